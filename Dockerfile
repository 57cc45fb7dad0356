# One image for each kind of machine:
#   docker build -t translucent .                              CPU (the default target, `cpu`)
#   docker build --target gpu -t translucent:gpu .             NVIDIA GPU; CUDA comes from ONNX Runtime's own packages
# podman needs `--format docker`; otherwise the HEALTHCHECK is lost. docs/deploy.md says how to run the images.
# The build uses the newest patches of Python and Debian; for reproducible builds give a digest:
# --build-arg PYTHON=docker.io/library/python:3.13-slim@sha256:…
# Python packages are those of deploy/locked, whose files pip compares with their SHA-256 (`make locked` writes them).
ARG PYTHON=docker.io/library/python:3.13-slim

FROM ${PYTHON} AS base
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# pip stays outside the environment, and so outside the image.
RUN python -m venv --without-pip /opt/translucent
WORKDIR /build
COPY deploy/locked locked

# The project's own wheel.
FROM base AS wheel
RUN python -m venv /opt/build
RUN /opt/build/bin/pip install --require-hashes --requirement locked/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY deploy/wheel.py deploy/wheel.py
COPY service service
COPY training training
COPY translucent_mt translucent_mt
RUN /opt/build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /wheel .

# Dependencies first, in a layer that changes only with them.
FROM base AS cpu-packages
RUN python -m pip --python /opt/translucent/bin/python install --require-hashes --requirement locked/cpu.txt
COPY --from=wheel /wheel /wheel
RUN python -m pip --python /opt/translucent/bin/python install --no-deps /wheel/*.whl

FROM base AS gpu-packages
RUN python -m pip --python /opt/translucent/bin/python install --require-hashes --requirement locked/gpu.txt
COPY --from=wheel /wheel /wheel
RUN python -m pip --python /opt/translucent/bin/python install --no-deps /wheel/*.whl

# Bundles that every user may read and nobody may execute, whatever the modes of the checkout are.
FROM base AS models
COPY models /models
RUN find /models -type d -exec chmod 755 {} + && find /models -type f -exec chmod 644 {} +

# The common part of both images; it needs neither a writable root file system nor a network.
FROM ${PYTHON} AS runtime
LABEL org.opencontainers.image.title="Translucent" \
      org.opencontainers.image.description="Translation models that show their attention" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/translucent/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TRANSLUCENT_HOST=0.0.0.0 \
    TRANSLUCENT_MODELS_DIR=/models
# Fonts for figures: Latin, Arabic and Hebrew, Chinese, Japanese and Korean, emoji.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        fonts-dejavu-core fonts-droid-fallback fonts-liberation fonts-noto-color-emoji \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
WORKDIR /tmp
# A numeric user needs no entry in /etc/passwd, and Kubernetes can check that it is not root.
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
# Readiness, not liveness: programs that wait for `healthy` then send requests.
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s --retries=3 CMD ["python", "-m", "translucent_mt.service.cli.probe"]
ENTRYPOINT ["translucent"]
CMD ["serve"]

FROM runtime AS gpu
ENV TRANSLUCENT_DEVICE=cuda \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=gpu-packages /opt/translucent /opt/translucent
COPY --from=models /models /models

# The last stage is the default target.
FROM runtime AS cpu
ENV TRANSLUCENT_DEVICE=cpu
COPY --from=cpu-packages /opt/translucent /opt/translucent
COPY --from=models /models /models
