"""Compares session verification of two services, one of which has a stderr that is not read (PR-4). Run by hand:

    python3 stderr.py BINARY [ROUNDS]

Both serve at the same time for 30 seconds a round, so that other load on the machine affects both. They swap roles after each round.
Needs wrk. Prints p50 and p99 of each, the ratio of the medians of p99, and what the services log about dropped lines.
"""
import http.client, json, os, re, socket, statistics, subprocess, sys, tempfile, threading, time

SECONDS = 30
binary = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 4


class Service:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="stderr")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("VESTRY_")} | {
            "VESTRY_DATABASE__URL": f"sqlite:{self.directory}/vestry.db", "VESTRY_HTTP__BASE_URL": "http://localhost:8080",
            "VESTRY_HTTP__LISTEN": self.address, "VESTRY_TELEMETRY__LISTEN": "off", "VESTRY_LIMITS__TEST_PER_MINUTE": "0"}
        self.admin("migrate")
        self.admin("vault", "init")
        self.key = self.admin("key", "create", self.admin("app", "create", "Shop")["id"], "test")["key"]
        self.reads, self.said = threading.Event(), []
        self.reads.set()
        self.process = subprocess.Popen([binary, "serve"], cwd=self.directory, env=self.env, stderr=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()
        while not self.is_ready():
            time.sleep(0.1)
        method = self.call("/v1/auth/otps/email/login_or_create", {"email": "ok@vestry.test"})["email_id"]
        verified = self.call("/v1/auth/otps/verify", {"method_id": method, "otp": "000000", "session_expires_in": 1440})
        self.script = f"{self.directory}/verify.lua"
        with open(self.script, "w") as script:
            script.write(f'wrk.method = "POST"\nwrk.body = [[{json.dumps({"session_token": verified["session_token"]})}]]\n'
                         f'wrk.headers["Authorization"] = "Bearer {self.key}"\nwrk.headers["Content-Type"] = "application/json"\n')

    def admin(self, *words):
        done = subprocess.run([binary, *words, "--json"], cwd=self.directory, env=self.env, check=True, capture_output=True)
        return json.loads(done.stdout)

    def read(self):
        rest = b""
        while self.reads.wait() and (some := os.read(self.process.stderr.fileno(), 1 << 16)):
            *lines, rest = (rest + some).split(b"\n")
            self.said += [json.loads(line)["message"] for line in lines if b"were dropped" in line]

    def is_ready(self):
        connection = http.client.HTTPConnection(self.address, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def call(self, path, body):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        return json.load(connection.getresponse())

    def load(self):
        url = f"http://{self.address}/v1/auth/sessions/verify"
        command = ["wrk", "-t1", "-c2", f"-d{SECONDS}s", "--latency", "-s", self.script, url]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def milliseconds(report, percentile):
    number, unit = re.search(rf" {percentile}%\s+([\d.]+)(us|ms|s)", report).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


services = [Service(), Service()]
figures = {"read": [], "not read": []}
for number in range(rounds):
    for name, service in zip(figures, services):
        if name == "not read":
            service.reads.clear()
    loads = [service.load() for service in services]
    for name, load in zip(figures, loads):
        report = load.communicate()[0]
        assert load.returncode == 0 and "Non-2xx" not in report, report
        p50, p99 = milliseconds(report, 50), milliseconds(report, 99)
        figures[name].append(p99)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", report).group(1)
        print(f"stderr {name}: {rate} per second, p50 {p50:.2f} ms, p99 {p99:.2f} ms", flush=True)
    for service in services:
        service.reads.set()
    services.reverse()
time.sleep(3)
for service in services:
    service.process.terminate()
    print(f"exit code {service.process.wait()}; {', '.join(service.said) or 'nothing dropped'}")
ratio = statistics.median(figures["not read"]) / statistics.median(figures["read"])
print(f"ratio of the medians of p99: {ratio:.2f}")
