# Carnet in a container: `docker build -t carnet .`, then `docker run --rm carnet` verifies GPU Travelling.
FROM python:3.11-slim-bookworm
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY spec spec
COPY model_check model_check
COPY reference_impl reference_impl
RUN pip install --no-cache-dir -c constraints.txt '.[fast,cvc5,eprover]' && mkdir /runs && chown 1000 /runs
USER 1000
ENV HOME=/runs
WORKDIR /runs
ENTRYPOINT ["carnet"]
CMD ["verify", "gpu-travelling"]
