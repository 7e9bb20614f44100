"""What the compiled readers of points read beside the text."""

import importlib.util
import sys
import threading

import numpy as np

from tornado.ingest import point_tokenizer


def test_all_threads_read_one_table_of_powers_that_nobody_lets_go_of(monkeypatch):
    """Made by each thread, a table that was replaced was read while it was free: a file and a push that began at once had other numbers."""
    interval = sys.getswitchinterval()
    name = "tornado.ingest.another_point_tokenizer"
    spec = importlib.util.spec_from_file_location(name, point_tokenizer.__file__)
    try:
        sys.setswitchinterval(1e-6)
        for _ in range(20):
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, module)
            spec.loader.exec_module(module)  # as a process has it that begins
            begun, found = threading.Barrier(4), []
            text = np.frombuffer(b"1.5", np.uint8)

            def read(module=module, begun=begun, found=found, text=text):
                begun.wait()
                found.append(module.text_columns(text).tolist())

            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all(one == found[0] for one in found)
    finally:
        sys.setswitchinterval(interval)
