# One image for the service, the generator, the pipeline and the Spark cluster under it: tasks must have the Python, the Spark
# and the package of the program that sends them. The same versions of Debian, Python and Java as the tests run on.
FROM python:3.11.13-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/tornado-loops
COPY pyproject.toml README.md LICENSE ./
COPY tornado tornado
COPY apps apps
RUN pip install --no-cache-dir --disable-pip-version-check '.[kafka,spark]'
COPY deploy/spark /etc/spark

ENV PYTHONUNBUFFERED=1 \
    SPARK_CONF_DIR=/etc/spark \
    TORNADO_LOOPS_CACHE_DIR=/var/cache/tornado-loops \
    TORNADO_LOOPS_DATA_DIR=/tmp/tornado-loops

# Volumes that are mounted over these folders belong to the user from their beginning.
RUN useradd --uid 10001 --home-dir /tmp --no-create-home tornado \
    && install --directory --owner=tornado --group=tornado /names /pipeline /snapshots /var/cache/tornado-loops
WORKDIR /tmp
USER 10001:10001

# Spark's Kafka connector is fetched and shortest paths are compiled here, not at every start.
RUN python -c 'import tornado; tornado.spark_kafka_jars()' \
    && printf 'src,dst,weight\n1,2,1.0\n' > /tmp/edges.csv \
    && tornado run sssp --source 1 --edges /tmp/edges.csv --store memory: --output /tmp/distances.csv --json \
    && rm -rf /tmp/edges.csv /tmp/distances.csv /tmp/tornado-loops /tmp/.ivy2*

CMD ["tornado", "--help"]
