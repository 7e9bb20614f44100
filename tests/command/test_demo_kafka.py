"""`tornado demo-kafka`: the whole chain with real servers ends with a match, says what is missing, and leaves nothing running."""

import shutil

import psutil
import pytest

from tests.spark.conftest import CHECKOUT
from tornado.command import main
