"""`python -m onnxkit` is the command."""

import sys

from ._cli import main

sys.exit(main())
