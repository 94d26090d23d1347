//! One model with everything in it, damaged in every place.
