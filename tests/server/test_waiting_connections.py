"""The connections that a stop accepts at last, over real sockets."""

import contextlib
import socket

import pytest

from service.server.uvicorn_server import waiting_connections


def test_before_a_port_closes_all_completed_connections_are_accepted_and_no_further_one_completes() -> None:
    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as listener:
        early = [stack.enter_context(socket.create_connection(listener.getsockname())) for _ in range(3)]
        for number, client in enumerate(early):
            client.sendall(b"%d" % number)
        accepted = [stack.enter_context(each) for each in waiting_connections(listener.fileno())]
        with pytest.raises(TimeoutError):  # a reset after its request would be a loss; this client goes elsewhere
            socket.create_connection(listener.getsockname(), timeout=0.3)
        listener.close()
        assert sorted(each.recv(1) for each in accepted) == [b"0", b"1", b"2"]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(early[0].getpeername(), timeout=5)
