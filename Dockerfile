# Another base needs a Python with its venv module as python3; PACKAGES are what it needs to compile for it.
ARG BASE=python:3.14-slim
FROM ${BASE} AS build
ARG PACKAGES="gcc libc6-dev"
ARG EXTRAS=""
# hadolint ignore=DL3008,SC2086
RUN apt-get update && apt-get install --yes --no-install-recommends ${PACKAGES} && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY man man
COPY sitemap_reader sitemap_reader
RUN python3 -m venv --without-pip /opt/sitemap-reader && \
    python3 -m venv /opt/pip && \
    /opt/pip/bin/pip --python /opt/sitemap-reader/bin/python install --no-cache-dir ".${EXTRAS}" && \
    ls /opt/sitemap-reader/lib/python3*/site-packages/sitemap_reader/parser/scanner.*.so

FROM ${BASE}
ARG VERSION=0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="sitemap-reader" \
      org.opencontainers.image.description="Reads a site's sitemaps" \
      org.opencontainers.image.url="https://github.com/sitemap-reader/sitemap-reader" \
      org.opencontainers.image.source="https://github.com/sitemap-reader/sitemap-reader" \
      org.opencontainers.image.documentation="https://sitemap-reader.readthedocs.io" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/sitemap-reader /opt/sitemap-reader
ENV PATH=/opt/sitemap-reader/bin:$PATH HOME=/data PYTHONDONTWRITEBYTECODE=1
RUN mkdir /data && chown 65532:65532 /data
USER 65532:65532
WORKDIR /data
VOLUME /data
ENTRYPOINT ["sitemap-reader"]
