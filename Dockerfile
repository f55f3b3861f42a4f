# Reverie for a client that starts servers in containers:
#   docker build -t reverie .
#   docker run --rm -i -v reverie-data:/data -v reverie-key:/key reverie
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /opt/reverie && /opt/reverie/bin/pip install --no-cache-dir ".[team]"

FROM python:3.13-slim
COPY --from=build /opt/reverie /opt/reverie
RUN useradd --create-home --uid 10001 reverie \
    && mkdir -m 0700 /data /key \
    && chown reverie:reverie /data /key
USER reverie
WORKDIR /home/reverie
ENV PATH=/opt/reverie/bin:$PATH \
    REVERIE_HOME=/data \
    REVERIE_CONFIG=/key \
    REVERIE_ENGINE=off
VOLUME ["/data", "/key"]
ENTRYPOINT ["reverie"]
CMD ["serve"]
