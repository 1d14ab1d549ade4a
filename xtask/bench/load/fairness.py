"""Measures how callers of one App affect the p50 of another App. Run by hand:

    python3 fairness.py BINARY sqlite:|postgres://... largest|searches

Prints the median latency of the other App's calls alone and beside the load, in alternating windows.
"""
import http.client, json, os, re, signal, statistics, subprocess, sys, tempfile, threading, time
from urllib.parse import urlsplit

binary, database, lane = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
directory = tempfile.mkdtemp(prefix="fairness")
env = {k: v for k, v in os.environ.items() if not k.startswith("VESTRY_")}
env["VESTRY_LIMITS__TEST_PER_MINUTE"] = "0"
if database.startswith("postgres:"):
    env["VESTRY_DATABASE__URL"] = database
    env["VESTRY_DATABASE__MIGRATE_ON_START"] = "true"
server = subprocess.Popen([binary, "dev", "--listen", "127.0.0.1:0", "--data-dir", directory], env=env,
                          stdout=open(directory + "/log", "w"), stderr=subprocess.STDOUT, cwd=directory)
ready = None
for _ in range(1200):
    try:
        ready = json.load(open(directory + "/dev.json"))
        http.client.HTTPConnection(urlsplit(ready["base_url"]).netloc, timeout=2).request("GET", "/")
        break
    except Exception:
        time.sleep(0.1)
    assert server.poll() is None, open(directory + "/log").read()[-2000:]
base = urlsplit(ready["base_url"]).netloc

class Client:
    def __init__(self, key):
        self.key, self.connection = key, None
    def call(self, method, path, body=None):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(base, timeout=60)
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}
        sent = json.dumps(body) if body is not None else None
        try:
            self.connection.request(method, path, sent, headers)
            answer = self.connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):
            # The server closed an idle connection.
            self.connection = http.client.HTTPConnection(base, timeout=60)
            self.connection.request(method, path, sent, headers)
            answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None, answer.headers

first = ready["test"]["secret_key"]
run = lambda *arguments: subprocess.run([binary, *arguments], env=cli, cwd=directory, capture_output=True, text=True)
cli = dict(env)
cli.setdefault("VESTRY_DATABASE__URL", "sqlite:" + directory + "/vestry.db")
cli["VESTRY_VAULT__LOCAL__PATH"] = directory + "/root.key"
cli["VESTRY_VAULT__LOCAL__SIGN_IN_PATH"] = directory + "/sign-in.key"
made = run("app", "create", "Other")
app = re.search(r"app_[0-9A-Za-z]{27}", made.stdout + made.stderr)
assert app, made
made = run("key", "create", app.group(0), "test")
key = re.search(r"sk_test_[0-9A-Za-z]{48}", made.stdout + made.stderr)
assert key, made
other = Client(key.group(0))
status, body, _ = other.call("POST", "/v1/auth/users/create", {"email": "other@example.com"})
assert status == 200, body
other_user = body["user_id"]
loud = Client(first)
status, body, _ = loud.call("POST", "/v1/auth/users/create", {"email": "largest@example.com"})
assert status == 200, body
largest = body["user_id"]
if lane == "largest":
    metadata = {f"key{number}": "m" * 300 for number in range(50)}
    request = {"emails": [{"email": f"a{number}@example.com"} for number in range(99)],
               "phone_numbers": [{"phone_number": f"+1415555{2000 + number}"} for number in range(100)], "metadata": metadata}
    status, body, _ = loud.call("PUT", f"/v1/auth/users/{largest}/update", request)
    assert status == 200, body
else:
    # So many users that a search for a part of a name runs into its time limit.
    many = int(os.environ.get("USERS", "1500000"))
    columns = ("app_id, environment, id, first_name, middle_name, last_name, status, metadata, created_at, updated_at, folded_name, is_owned")
    name = "n" * 60
    if database.startswith("postgres:"):
        rows = (f"INSERT INTO users ({columns}) SELECT '{ready['app_id']}', 'test', 'user_' || lpad(n::text, 27, '0'), '{name}', '', '', 'active', "
                f"'{{}}', 1800000000, 1800000000, '{name}' || n, true FROM generate_series(1, {many}) n")
        subprocess.run(["psql", database, "-qc", rows], check=True)
    else:
        import sqlite3
        rows = (f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {many}) INSERT INTO users ({columns}) "
                f"SELECT '{ready['app_id']}', 'test', printf('user_%027d', n), '{name}', '', '', 'active', '{{}}', 1800000000, 1800000000, '{name}' || n, 1 FROM c")
        link = sqlite3.connect(directory + "/vestry.db", timeout=60)
        link.execute(rows)
        link.commit()
        link.close()

go, stop, done, refused = threading.Event(), threading.Event(), [0], [0]
def reader_and_writer(number):
    client = Client(first)
    while not stop.is_set():
        go.wait()
        if number % 2:
            status, _, _ = client.call("GET", f"/v1/auth/users/{largest}")
        else:
            status, _, _ = client.call("PUT", f"/v1/auth/users/{largest}/update", {"metadata": {"key0": str(time.time())}})
        done[0] += status == 200
def reader_then_writer(number):
    client = Client(first)
    while not stop.is_set():
        go.wait()
        status, _, _ = client.call("GET", f"/v1/auth/users/{largest}")
        done[0] += status == 200
        status, _, _ = client.call("PUT", f"/v1/auth/users/{largest}/update", {"metadata": {"key0": str(time.time())}})
        done[0] += status == 200
def searcher(number):
    client = Client(first)
    fields = [{"field": "full_name_match", "operator": "eq", "value": f"x{number}"}, {"field": "email_match", "operator": "eq", "value": f"zz{number}"}]
    while not stop.is_set():
        go.wait()
        status, _, headers = client.call("POST", "/v1/auth/users/search", {"filters": {"operator": "OR", "fields": fields}})
        done[0] += 1
        if status == 503:
            refused[0] += 1
            stop.wait(float(headers.get("Retry-After", "1")))
work, many = (reader_then_writer, 4) if lane == "largest" else (searcher, 12)
threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(many)]
for thread in threads:
    thread.start()

calls = {"users/get": lambda: other.call("GET", f"/v1/auth/users/{other_user}"),
         "users/update": lambda: other.call("PUT", f"/v1/auth/users/{other_user}/update", {"metadata": {"a": str(time.time())}})}
def window(seconds):
    times = {name: [] for name in calls}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, call in calls.items():
            begun = time.perf_counter()
            status, body, _ = call()
            assert status == 200, body
            times[name].append(time.perf_counter() - begun)
    return times
window(1)
alone, beside = {name: [] for name in calls}, {name: [] for name in calls}
for _ in range(rounds):
    for name, found in window(3).items():
        alone[name] += found
    go.set(); time.sleep(0.3)
    for name, found in window(3).items():
        beside[name] += found
    go.clear(); time.sleep(2.2 if lane != "largest" else 0.5)
for name in calls:
    a, b = statistics.median(alone[name]) * 1000, statistics.median(beside[name]) * 1000
    print(f"{os.path.basename(binary)} {database.split(':')[0]} {lane} {name}: p50 alone {a:.2f} ms, beside {b:.2f} ms, x{b / a:.2f} ({len(beside[name])} calls; load: {done[0]} answers, {refused[0]} refused)", flush=True)
stop.set(); go.set()
time.sleep(3)
server.send_signal(signal.SIGTERM)
server.wait(20)
