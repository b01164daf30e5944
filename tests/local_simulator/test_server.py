import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import pytest
from slack_sdk import WebClient

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.server import SimulatorServer

POST = json.dumps({"channel": "U0ANA", "text": "hello"}).encode()
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer xoxb-acme-1"}
ROOT = Path(__file__).parents[2]


def connect(url: str) -> HTTPConnection:
    return HTTPConnection(url.removeprefix("http://"), timeout=20)


def handlers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "process_request_thread" in thread.name}


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_a_connection_is_kept_for_the_next_request(simulator: SimulatorClient) -> None:
    connection = connect(simulator.url)
    connection.connect()
    own = connection.sock.getsockname()
    for _ in range(3):
        connection.request("POST", "/slack/api/chat.postMessage", POST, HEADERS)
        assert b'"ok":true' in connection.getresponse().read()
        assert connection.sock.getsockname() == own
    connection.close()
    assert len(simulator.messages()) == 3


def test_answers_come_at_once_however_small(simulator: SimulatorClient) -> None:
    connection, seconds = connect(simulator.url), list[float]()
    for _ in range(50):
        began = time.monotonic()
        connection.request("GET", "/_simulator/health")
        connection.getresponse().read()
        seconds.append(time.monotonic() - began)
    connection.close()
    assert median(seconds) < 0.03  # with Nagle's algorithm on, each of them takes 40 ms


def test_sixteen_at_once_all_arrive(simulator: SimulatorClient, slack: WebClient) -> None:
    with ThreadPoolExecutor(16) as pool:
        texts = [f"m{number}" for number in range(200)]
        list(pool.map(lambda text: slack.chat_postMessage(channel="U0ANA", text=text), texts))
    assert sorted(message["text"] for message in simulator.messages()) == sorted(texts)
    times = [message["ts"] for page in slack.conversations_history(channel="D0ANA") for message in page["messages"]]
    assert (len(set(times)), times) == (200, sorted(times, reverse=True))


def test_a_slow_provider_answers_late_but_sends_at_once(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.configure(latency_ms=1000)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(slack.chat_postMessage, channel="U0ANA", text="hello")
        assert until(lambda: len(simulator.messages()) == 1)
        assert not answer.done()
        answer.result()
    assert time.monotonic() - began >= 1


def test_the_thread_of_a_hang_ends_when_the_client_leaves(start: Callable[..., SimulatorServer]) -> None:
    server = start()
    simulator = SimulatorClient(server.url)
    try:
        before = handlers()
        simulator.fault("chat", "hang")
        connection = connect(server.url)
        connection.request("POST", "/slack/api/chat.postMessage", POST, HEADERS)
        assert until(lambda: simulator.faults() == [])
        assert until(lambda: len(handlers() - before) == 1)
        (handler,) = handlers() - before
        connection.close()
        assert until(lambda: not handler.is_alive())
    finally:
        server.stop()


def test_a_stop_ends_hangs_and_idle_connections(start: Callable[..., SimulatorServer]) -> None:
    server = start()
    SimulatorClient(server.url).fault("chat", "hang")
    connection, idle = connect(server.url), connect(server.url)
    connection.request("POST", "/slack/api/chat.postMessage", POST, HEADERS)
    idle.request("GET", "/_simulator/health")
    idle.getresponse().read()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 20
    with pytest.raises(ConnectionError):
        connection.getresponse()
    connection.close()
    idle.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Transfer-Encoding: chunked", b"411"),
        ("Content-Length: many", b"411"),
        ("Content-Length: 4194305", b"413"),
    ],
)
def test_a_body_of_unknown_or_immense_length_is_refused(simulator: SimulatorClient, head: str, status: bytes) -> None:
    host, port = simulator.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(f"POST /sms/ HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 %b " % status)


def test_a_request_cut_off_in_its_body_reaches_nobody(simulator: SimulatorClient) -> None:
    host, port = simulator.url.removeprefix("http://").split(":")
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        length = f"Content-Length: {len(POST)}"
        connection.sendall(f"POST /slack/api/chat.postMessage HTTP/1.1\r\n{head}{length}\r\n\r\n".encode() + POST[:-1])
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536) == b""
    assert simulator.messages() == []


def test_an_unknown_path_is_not_found(simulator: SimulatorClient) -> None:
    connection = connect(simulator.url)
    connection.request("GET", "/")
    assert connection.getresponse().status == 404
    connection.close()


def test_a_verbose_simulator_says_a_line_a_request_and_nothing_that_was_in_it(
    start: Callable[..., SimulatorServer], capsys: pytest.CaptureFixture[str]
) -> None:
    server = start(verbose=True)
    simulator = SimulatorClient(server.url)
    slack = WebClient("xoxb-acme-s3cret", base_url=simulator.slack_url, retry_handlers=[])
    slack.chat_postMessage(channel="U0ANA", text="private")
    simulator.messages(to="+41790000001")
    server.stop()
    printed = capsys.readouterr()
    lines = [line.rsplit(maxsplit=2)[0] for line in printed.out.splitlines()]
    assert sorted(lines) == ["GET /_simulator/messages 200", "POST /slack/api/chat.postMessage 200"]
    assert printed.err == ""


def run(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infra.local.simulator", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ)


def test_the_command_serves_until_it_is_told_to_end(state_dir: Path) -> None:
    with run("--state-dir", str(state_dir)) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        health = SimulatorClient(ready.split()[-1]).ask("GET", "health")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert ready.startswith("simulator ready on http://127.0.0.1:")
    assert health == {"status": "ok", "messages": 0, "faults": 0}


def test_the_command_says_when_its_port_is_taken(simulator: SimulatorClient, state_dir: Path) -> None:
    port = simulator.url.rsplit(":", maxsplit=1)[1]
    with run("--state-dir", str(state_dir), "--port", port) as process:
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert output == f"The simulator can't listen on port {port}: Address already in use. Give another --port.\n"
