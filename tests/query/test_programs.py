"""Which programs APP can name: what `tornado run` offers is what it can start."""

import pytest

from tornado.errors import InvalidArgument
from tornado.loops.vertex_program import VertexProgram
from tornado.query.programs import app_names, load_program


def test_every_app_that_is_offered_is_a_program():
    assert "sssp" in app_names()
    for name in app_names():
        assert issubclass(load_program(name).kind, VertexProgram)


def test_a_folder_of_apps_is_no_app_and_the_refusal_does_not_offer_it():
    with pytest.raises(InvalidArgument, match="there is no app named 'pipelines'") as refused:
        load_program("pipelines")
    assert "sssp" in str(refused.value.hint)
    assert "pipelines" not in str(refused.value.hint)
