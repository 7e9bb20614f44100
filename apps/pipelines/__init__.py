"""Spark pipelines that clean records and write them into a running loop; they need `pip install 'tornado-loops[spark]'`."""
