"""Questions and their answers: the query service, the Python session, the HTTP interface.

The service (`service.py`) turns a question into a branch loop and its values into a small answer; `session.py` is its
face in Python, `http.py` its face on the network. Only `http*.py` know the web framework.
"""
