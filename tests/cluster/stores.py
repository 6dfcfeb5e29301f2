"""Servers that speak S3's protocol, for tests: moto and rclone."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

BUCKET = "mercato"
KEY, SECRET = "mercato-test", "mercato-secret"
START_SECONDS = 30


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program(name):
    """A program of the Python that runs this, else of the path."""
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        sys.exit(f"no {name}: install what tests/cluster/requirements.txt names")
    return found


class Store:
    """A running server with one bucket, on a machine of its own if one is given. It can be killed and started again on the
    same port."""

    checks_keys = False
    # Whether what it holds outlives a kill.
    is_on_disk = False

    def __init__(self, folder, machine=None):
        self.folder, self.machine = pathlib.Path(folder), machine
        self.host = "127.0.0.1" if machine is None else machine.address
        self.port = free_port()
        self.log = open(self.folder / "store.log", "ab")
        self.start()

    def start(self):
        command = self.command() if self.machine is None else self.machine.command(self.command())
        # A session of its own, so that everything it starts ends with it.
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True
        )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{self.command()[0]} does not start:\n{(self.folder / 'store.log').read_text()}")
            time.sleep(0.05)
        self.make_bucket()

    def answers(self):
        try:
            urllib.request.urlopen(self.endpoint(), timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()

    def endpoint(self):
        return f"http://{self.host}:{self.port}"

    def variables(self, port=None):
        """What a client finds it by, perhaps through another port."""
        checks = {"MERCATO_TEST_S3_CHECKS_KEYS": "1"} if self.checks_keys else {}
        return checks | {
            "AWS_ENDPOINT_URL": f"http://{self.host}:{port or self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "MERCATO_TEST_S3": f"s3://{BUCKET}/test",
        }


class Moto(Store):
    """In memory: a start after a kill is empty."""

    def command(self):
        return [program("moto_server"), "-H", self.host, "-p", str(self.port)]

    def make_bucket(self):
        request = urllib.request.Request(f"{self.endpoint()}/{BUCKET}", method="PUT")
        urllib.request.urlopen(request, timeout=5).close()


class Rclone(Store):
    """Files of a folder, which outlive it."""

    checks_keys = True
    is_on_disk = True

    def command(self):
        self.make_bucket()
        return [
            program("rclone"), "serve", "s3", "--config", os.devnull, "--addr", f"{self.host}:{self.port}",
            "--auth-key", f"{KEY},{SECRET}", "--vfs-cache-mode", "off", str(self.folder / "objects"),
        ]

    def make_bucket(self):
        (self.folder / "objects" / BUCKET).mkdir(parents=True, exist_ok=True)


STORES = {"moto": Moto, "rclone": Rclone}
