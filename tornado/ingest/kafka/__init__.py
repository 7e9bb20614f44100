"""Edges from a Kafka topic, read directly: partitions assigned by us, offsets kept by the loop and nowhere else.

The client runs in a process of its own (`consumer.py`), because it is Python per message and would take the workers' interpreter
lock; what it fetches comes over a pipe as arrays (`wire.py`). Here, in the session's process, whole chunks are decoded at once
(`decoding.py`), and admitted under (topic:partition, next offset) by `ingester.py`, which also starts a client that died again,
from the loop's offsets. So a record is in the loop once, however often it was delivered.

Only `library.py` imports the client library; `consumer.py`, `courtesy.py`, `diagnosis.py` and `producer.py` use it.
"""
