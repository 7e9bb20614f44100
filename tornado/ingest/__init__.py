"""Input: edge batches, the sources that deliver them, and the ingester that admits them in order.

Data goes one way: a source's bytes become `ParsedBatch`es (edges that are good, records that are not), the ingester writes the
bad ones to the quarantine and admits the good ones under (source name, offset). Nothing here knows how a loop applies an edge,
and nothing here keeps an edge once it is admitted.
"""
