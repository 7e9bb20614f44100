"""Looks at a service that has much to do: it gives itself a second or two to say how loops stand, and says later what it could not say then."""

import time

LOOK_S = 120


def look(get, address, shows=""):
    """What an address answers as soon as the service has the time to, and a text is in it where one is waited for."""
    until_s = time.monotonic() + LOOK_S
    while (answer := get(address)).status_code == 503 or shows not in answer.text:
        assert time.monotonic() < until_s, answer.text
        time.sleep(0.02)
    return answer
