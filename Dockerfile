# syntax=docker/dockerfile:1
# The command in an image without anything else; docs/install.md has a line to run it.
#
#   docker build --tag onnx .
#   docker run --rm --volume "$PWD:/models" onnx check model.onnx

# The C library of Alpine is linked statically by default, so the program needs no file of the image.
FROM rust:1.95-alpine AS build
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo build --locked --profile dist --package onnx-cli \
    && cp target/dist/onnx /onnx

FROM scratch
COPY LICENSE-APACHE LICENSE-MIT THIRD-PARTY-LICENSES /licenses/
COPY --from=build /onnx /bin/onnx
# What a model makes the command do is done without privileges. To write into a volume, add --user "$(id -u):$(id -g)".
USER 65532:65532
WORKDIR /models
ENTRYPOINT ["/bin/onnx"]
CMD ["--help"]
