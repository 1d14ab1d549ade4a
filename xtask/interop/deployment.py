"""The files of a release, and those of deploy/: the image runs under `crun`; the command lines of the compose file, of the Kubernetes
manifest and of the systemd unit start the binary; shells accept the completions.

It reads the release from the directory in VESTRY_RELEASE, and runs as root on Debian."""

import contextlib
import hashlib
import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse

import yaml

from service import Check, Service

USER = 65532
MEMORY = 256 << 20
PATIENCE = 60
# Files keep their owners. Older versions of Python know nothing else.
OWNERS = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
BINARY = "usr/local/bin/vestry"
# What a container has of its environment, besides its own.
PATH = {"PATH": "/usr/bin:/bin"}


class Deployed(Service):
    """A client of a service whose address and key are known."""

    def __init__(self, base_url, key):
        self.base_url, self.secret_key = base_url, key


def run(*command, **options):
    """The stdout of a program that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def status(port, path):
    """The status of a GET request, or 0 while nothing listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        return connection.getresponse().status
    return 0


def until(holds, process, log):
    """Waits until a condition holds, while a process runs."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if process.poll() is not None or time.monotonic() > end:
            log.seek(0)
            raise RuntimeError(f"the service is not ready ({process.poll()}): {log.read()}")
        time.sleep(0.02)


@contextlib.contextmanager
def running(check, name, command, port, path="/readyz", stop=None, **options):
    """A service that is ready, and that must exit with 0 on SIGTERM."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, **options)
        try:
            until(lambda: status(port, path) == 200, process, log)
            yield process
            stop() if stop else process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
            check.that(code == 0, f"{name}: SIGTERM ends the service with code 0, not {code}")
        finally:
            process.kill()
            process.wait()


def journey(check, service, name):
    """A user signs in with a code; a wallet is created and signs."""
    begun = service.call("POST", "/v1/auth/otps/email/login_or_create", {"email": f"{name}@example.com", "expires_in": 5})
    mail = service.get("/v1/test/messages", to=f"{name}@example.com", wait=10)["messages"][0]
    code = {"method_id": begun["email_id"], "otp": mail["code"], "session_expires_in": 60}
    token = service.call("POST", "/v1/auth/otps/verify", code)["session_token"]
    session = service.call("POST", "/v1/auth/sessions/verify", {"session_token": token})["session"]
    check.that(session["user_id"] == begun["user_id"], f"{name}: the session is the user's")
    wallet = service.call("POST", "/v1/wallets/create", {"user_id": begun["user_id"], "wallet_type": "ethereum"})
    signed = service.call("POST", f"/v1/wallets/{wallet['id']}/sign_message", {"message": "hello", "encoding": "utf-8"})
    check.that(bool(signed["signature"]), f"{name}: the wallet signs")
    return begun["user_id"]


def create_app(admin):
    """The test key of a new App."""
    app = json.loads(admin("app", "create", "Shop", "--json"))["id"]
    return json.loads(admin("key", "create", app, "test", "--json"))["key"]


class Image:
    """The image of the release, unpacked."""

    def __init__(self, archive, directory):
        layout = f"{directory}/layout"
        with tarfile.open(archive) as tar:
            tar.extractall(layout, **OWNERS)
        with open(f"{layout}/index.json", encoding="utf-8") as file:
            self.index = json.load(file)
        manifest = json.loads(self._blob(layout, self.index["manifests"][0]))
        self.document = json.loads(self._blob(layout, manifest["config"]))
        self.config = self.document["config"]
        self.root = f"{directory}/root"
        self.layers = []
        for layer in manifest["layers"]:
            with tarfile.open(self._path(layout, layer)) as tar:
                tar.extractall(self.root, **OWNERS)
                self.layers.append({member.name: member for member in tar})
        self.binary = f"{self.root}/{BINARY}"

    @staticmethod
    def _path(layout, descriptor):
        return f"{layout}/blobs/{descriptor['digest'].replace(':', '/')}"

    def _blob(self, layout, descriptor):
        with open(self._path(layout, descriptor), "rb") as file:
            content = file.read()
        assert hashlib.sha256(content).hexdigest() == descriptor["digest"].removeprefix("sha256:")
        assert len(content) == descriptor["size"]
        return content


def check_release(check, release, image):
    """PR-46: the sums are right, and the bill names crates and packages."""
    with open(f"{release}/SHA256SUMS", encoding="utf-8") as file:
        sums = dict(reversed(line.split()) for line in file)
    found = {}
    for name in os.listdir(release):
        with open(f"{release}/{name}", "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    del found["SHA256SUMS"]
    check.that(sums == found, f"the sums are {sums}, the files {found}")
    with open(f"{release}/vestry.cdx.json", encoding="utf-8") as file:
        bill = json.load(file)
    names = {component["name"] for component in bill["components"]}
    check.that({"rustls", "vestry-domain", "libc6", "ca-certificates"} <= names, "the bill names what is in the image")
    kinds = {component.get("purl", "").split("/")[0] for component in bill["components"]}
    check.that(kinds == {"", "pkg:cargo", "pkg:deb"}, f"the bill has crates and packages, not {kinds}")
    with open(f"{release}/vestry", "rb") as one, open(image.binary, "rb") as other:
        check.that(one.read() == other.read(), "the image has the binary of the release")


def check_image(check, image):
    """PR-38, PR-39, PR-41: what is in the image, and that the Dockerfile describes the same one."""
    system, program = image.layers
    files = {name for name, member in (system | program).items() if not member.isdir()}
    programs = {name for name in files if re.search(r"(^|/)s?bin/", name)}
    check.that(programs == {BINARY}, f"the binary is the only program: {programs}")
    check.that(BINARY in program and BINARY not in system, "the binary has a layer of its own")
    check.that("etc/ssl/certs/ca-certificates.crt" in system, "the authorities are in the first layer")
    owners = {name: member.uid for name, member in system.items() if member.uid}
    check.that(owners == {"data": USER, "keys": USER}, f"only /data and /keys belong to {USER}: {owners}")
    times = {member.mtime for layer in image.layers for member in layer.values()}
    check.that(times == {0}, "no entry has a time")
    with open("deploy/Dockerfile", encoding="utf-8") as file:
        text = file.read()
    words = dict(re.findall(r"^(USER|WORKDIR|VOLUME|ENTRYPOINT|CMD|STOPSIGNAL|EXPOSE) (.*)$", text, re.MULTILINE))
    config = image.config
    described = {
        "USER": config["User"],
        "WORKDIR": config["WorkingDir"],
        "VOLUME": json.dumps(sorted(config["Volumes"])),
        "ENTRYPOINT": json.dumps(config["Entrypoint"]),
        "CMD": json.dumps(config["Cmd"]),
        "STOPSIGNAL": config["StopSignal"],
        "EXPOSE": " ".join(config["ExposedPorts"]),
    }
    check.that(words == described, f"the Dockerfile has {words}, the image {described}")
    check.that(text.startswith("#") and "CI does not build it" in text.split("\n\n")[0], "the Dockerfile says who builds it")


class Crun:
    """Containers of an image, as little privileged as possible."""

    # crun refuses machines with both versions of cgroups. Without the second, it uses the first.
    HYBRID = "/sys/fs/cgroup/unified"

    def __init__(self, image, directory):
        self._image, self._directory = image, directory
        self._count = 0
        is_hybrid = os.path.exists(f"{self.HYBRID}/cgroup.controllers")
        alone = ["unshare", "--mount", "sh", "-c", f'umount {self.HYBRID} && exec "$@"', "sh"]
        self._before = alone if is_hybrid else []
        self.limited = True
        for volume in image.config["Volumes"]:
            os.makedirs(directory + volume)
            os.chown(directory + volume, USER, USER)

    def _crun(self, *arguments):
        manager = "cgroupfs" if self.limited else "disabled"
        return [*self._before, "crun", "--root", f"{self._directory}/state", "--cgroup-manager", manager, *arguments]

    def _bundle(self, arguments, variables):
        """Writes how a container runs, and returns its name and the command that runs it."""
        config = self._image.config
        none = {name: [] for name in ("bounding", "effective", "inheritable", "permitted", "ambient")}
        user, group = map(int, config["User"].split(":"))
        private = ["nosuid", "nodev", "noexec"]
        volumes = [
            {"destination": volume, "type": "bind", "source": self._directory + volume, "options": ["bind", "rw", *private]}
            for volume in config["Volumes"]
        ]
        spec = {
            "ociVersion": "1.0.0",
            "process": {
                "user": {"uid": user, "gid": group},
                "args": config["Entrypoint"] + (arguments or config["Cmd"]),
                "env": config["Env"] + [f"{name}={value}" for name, value in variables.items()],
                "cwd": config["WorkingDir"],
                "capabilities": none,
                "noNewPrivileges": True,
            },
            "root": {"path": self._image.root, "readonly": True},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc", "options": private},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
                *volumes,
            ],
            # The service listens on this machine, so it has no network of its own.
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
                "resources": {"memory": {"limit": MEMORY}} if self.limited else {},
                "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list"],
                "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
            },
        }
        self._count += 1
        name = f"vestry-{os.getpid()}-{self._count}"
        bundle = f"{self._directory}/{name}"
        os.makedirs(f"{bundle}/root")
        with open(f"{bundle}/config.json", "w", encoding="utf-8") as file:
            json.dump(spec, file)
        return name, self._crun("run", "--bundle", bundle, name)

    def run(self, *arguments, **variables):
        """The stdout of a container that must succeed."""
        return run(*self._bundle(list(arguments), variables)[1])

    def find_out(self):
        """Whether containers can have a memory limit. The reason if not."""
        try:
            self.run("--version")
        except RuntimeError as refusal:
            self.limited = False
            self.run("--version")
            return str(refusal)
        return None

    def serve(self, check, port, **variables):
        """The service, run as the image runs on its own."""
        name, command = self._bundle([], variables)
        stop = lambda: run(*self._crun("kill", name, "TERM"))
        return name, running(check, "image", command, port, stop=stop)

    def process(self, name):
        """The process of a running container."""
        return json.loads(run(*self._crun("state", name)))["pid"]


def memory_limit(process):
    """The limit of the memory that a process may use, by either version of cgroups."""
    with open(f"/proc/{process}/cgroup", encoding="utf-8") as file:
        groups = dict(line.strip().split(":", 2)[1:] for line in file)
    for controller, place in (("memory", "/sys/fs/cgroup/memory{}/memory.limit_in_bytes"), ("", "/sys/fs/cgroup{}/memory.max")):
        if controller in groups and os.path.exists(place.format(groups[controller])):
            with open(place.format(groups[controller]), encoding="utf-8") as file:
                return int(file.read())
    return None


def facts(process):
    """What the kernel says of a process, by name."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def check_container(check, image, directory):
    """PR-40: with a read-only root, no capabilities and 256 MB, the image serves a journey."""
    crun = Crun(image, directory)
    reason = crun.find_out()
    if reason:
        print(f"packaging: skipped: memory limit of the container: {reason}")
    crun.run("migrate")
    crun.run("vault", "init")
    key = create_app(crun.run)
    port = free_port()
    variables = {"VESTRY_HTTP__BASE_URL": "https://id.example.com", "VESTRY_HTTP__LISTEN": f"127.0.0.1:{port}"}
    name, service = crun.serve(check, port, **variables, VESTRY_HTTP__DRAIN_DELAY=0)
    with service:
        journey(check, Deployed(f"http://127.0.0.1:{port}", key), "image")
        process = crun.process(name)
        known = facts(process)
        check.that(known["Uid"].split() == [str(USER)] * 4, f"the process runs as {USER}: {known['Uid']}")
        check.that(all(int(known[f"Cap{of}"], 16) == 0 for of in ("Bnd", "Eff", "Prm", "Inh", "Amb")), "it has no capability")
        check.that(known["NoNewPrivs"] == "1", "it cannot gain privileges")
        check.that(not reason or memory_limit(process) != MEMORY, "the limit was skipped, but holds")
        check.that(bool(reason) or memory_limit(process) == MEMORY, f"it may use 256 MB, not {memory_limit(process)}")
        with open(f"/proc/{process}/mountinfo", encoding="utf-8") as file:
            mounts = {fields[4]: fields[5].split(",") for fields in map(str.split, file)}
        writable = {place for place, options in mounts.items() if "rw" in options and not place.startswith(("/proc", "/dev"))}
        check.that(writable == {"/data", "/keys"}, f"only /data and /keys can be written to: {writable}")
    check.that(set(os.listdir(f"{directory}/keys")) >= {"root.key", "sign-in.key"}, "the root keys are in /keys")
    check.that("vestry.db" in os.listdir(f"{directory}/data"), "the database is in /data")


class Container:
    """A directory in which processes find what a container would, with its volumes below it."""

    def __init__(self, image, directory):
        self._image, self.directory = image, directory
        for volume in ("etc", *image.config["Volumes"]):
            os.makedirs(f"{directory}/{volume}", exist_ok=True)
            os.chown(f"{directory}/{volume}", USER, USER)
        with open(f"{image.root}/etc/vestry/vestry.toml", encoding="utf-8") as file:
            settings = file.read().replace('"/keys/', f'"{directory}/keys/').replace("sqlite:/data/", f"sqlite:{directory}/data/")
        with open(f"{directory}/etc/vestry.toml", "w", encoding="utf-8") as file:
            file.write(settings)

    def command(self, arguments):
        return [self._image.binary, *arguments]

    def options(self, variables):
        """Runs it as the image does."""
        settings = f"{self.directory}/etc"
        return {"cwd": settings, "env": PATH | variables, "user": USER, "group": USER, "extra_groups": []}

    def run(self, arguments, variables):
        return run(*self.command(arguments), **self.options(variables))


def database(name):
    """The URL of a new Postgres database."""
    server = os.environ["VESTRY_TEST_POSTGRES_URL"]
    run("psql", "--quiet", server, "--command", f"CREATE DATABASE {name}")
    return urllib.parse.urlsplit(server)._replace(path=f"/{name}").geturl()


def check_compose(check, image, directory):
    """PR-42: the command lines of Vestry in the compose file run, and both replicas serve one deployment."""
    with open("deploy/compose.yaml", encoding="utf-8") as file:
        services = yaml.safe_load(file)["services"]
    ours = {name: service for name, service in services.items() if "vestry:" in service["image"]}
    replicas = [name for name, service in ours.items() if service.get("command") == ["serve"]]
    check.that(set(services) - set(ours) == {"postgres", "haproxy"}, f"the other services: {set(services) - set(ours)}")
    check.that(len(replicas) == 2, f"two replicas: {replicas}")
    with open("deploy/haproxy.cfg", encoding="utf-8") as file:
        servers = dict(re.findall(r"^ +server (\S+) (\S+)$", file.read(), re.MULTILINE))
    check.that(servers == {name: f"{name}:8080" for name in replicas}, f"haproxy leads to the replicas: {servers}")

    container = Container(image, directory)
    socket = urllib.parse.quote("/var/run/postgresql", safe="")
    url = database("compose")

    def variables(name, **more):
        # `${NAME:-default}` is the default here.
        of_file = {key: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for key, value in ours[name]["environment"].items()}
        check.that(f"@{socket}/" in of_file["VESTRY_DATABASE__URL"], f"{name} connects to the socket of Postgres")
        return of_file | {"VESTRY_DATABASE__URL": url} | more

    admin = lambda *arguments: container.run(arguments, variables("admin"))
    container.run(ours["migrate"]["command"], variables("migrate"))
    admin("vault", "init")
    key = create_app(admin)
    with contextlib.ExitStack() as stack:
        clients = []
        for name in replicas:
            port = free_port()
            mine = variables(name, VESTRY_HTTP__LISTEN=f"127.0.0.1:{port}", VESTRY_HTTP__DRAIN_DELAY="0")
            command = container.command(ours[name]["command"])
            stack.enter_context(running(check, f"compose {name}", command, port, **container.options(mine)))
            clients.append(Deployed(f"http://127.0.0.1:{port}", key))
        how, *health = ours[replicas[0]]["healthcheck"]["test"]
        url = health.pop()
        check.that((how, health[0], url) == ("CMD", f"/{BINARY}", "http://127.0.0.1:9464"), f"the health check: {health} {url}")
        # The replicas share this machine, so that only one of them has the port.
        run(*container.command([*health[1:], f"http://127.0.0.1:{port}"]), **container.options({}))
        user = journey(check, clients[0], "compose")
        found = clients[1].get(f"/v1/auth/users/{user}")
        check.that(found["user_id"] == user, "the second replica knows the user of the first")


def check_kubernetes(check, image, directory):
    """PR-43: the manifest is valid; its command lines and variables start the binary, and its probes succeed."""
    run(f"{os.path.dirname(sys.executable)}/kubernetes-validate", "--strict", "deploy/kubernetes.yaml")
    with open("deploy/kubernetes.yaml", encoding="utf-8") as file:
        manifest = {document["kind"]: document for document in yaml.safe_load_all(file)}
    url = database("kubernetes")
    container = Container(image, directory)
    secrets = {("vestry", "database-url"): url}

    def pod(kind):
        """The container of a workload, after looking at what restricted pods must have."""
        spec = manifest[kind]["spec"]["template"]["spec"]
        (one,) = spec["containers"]
        check.that(spec["securityContext"]["runAsUser"] == USER and spec["securityContext"]["runAsNonRoot"], f"{kind} runs as {USER}")
        check.that(spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, f"{kind} has a seccomp profile")
        own = one["securityContext"]
        check.that(own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"], f"{kind} cannot change its image")
        check.that(own["capabilities"] == {"drop": ["ALL"]}, f"{kind} has no capability")
        # The variables of links to Services, unless the pod refuses them.
        links = {} if spec.get("enableServiceLinks") is False else {"VESTRY_SERVICE_HOST": "10.0.0.1"}
        of_pod = {}
        for variable in one["env"]:
            source = variable.get("valueFrom", {}).get("secretKeyRef", {})
            of_pod[variable["name"]] = variable.get("value") or secrets[source["name"], source["key"]]
        return spec, one, links | of_pod

    _spec, job, variables = pod("Job")
    container.run(job["args"], variables)
    spec, deployment, variables = pod("Deployment")
    check.that(spec["terminationGracePeriodSeconds"] == 40, "pods have 40 s of grace")
    (mount,) = deployment["volumeMounts"]
    check.that(mount["mountPath"] == "/keys" and mount["readOnly"], "the root keys are in /keys")
    (keys,) = spec["volumes"]
    # On the machine of an administrator, as the head of the manifest says.
    of_admin = {"VESTRY_DATABASE__URL": url, "VESTRY_VAULT__LOCAL__PATH": f"{directory}/keys/root.key"}
    run(image.binary, "vault", "init", cwd=directory, env=PATH | of_admin)
    # The kubelet lets the group of the pod read the files of a secret.
    for name in ("root.key", "sign-in.key"):
        os.chown(f"{directory}/keys/{name}", 0, spec["securityContext"]["fsGroup"])
        os.chmod(f"{directory}/keys/{name}", keys["secret"]["defaultMode"] | 0o040)
    os.chmod(f"{directory}/keys", 0o755)
    os.chown(f"{directory}/keys", 0, 0)
    ports = {port["name"]: port["containerPort"] for port in deployment["ports"]}
    (served,) = manifest["Service"]["spec"]["ports"]
    check.that(ports[served["targetPort"]] == 8080, "the Service leads to the port on which the image listens")
    check.that(variables["VESTRY_TELEMETRY__LISTEN"] == f"0.0.0.0:{ports['telemetry']}" == "0.0.0.0:9464", "probes are on 9464")
    port, probed = free_port(), free_port()
    variables |= {
        "VESTRY_HTTP__LISTEN": f"127.0.0.1:{port}",
        "VESTRY_TELEMETRY__LISTEN": f"127.0.0.1:{probed}",
        "VESTRY_HTTP__DRAIN_DELAY": "0",
    }
    probes = {kind: deployment[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    check.that({probe["port"] for probe in probes.values()} == {"telemetry"}, "every probe asks the telemetry port")
    ready = probes["readiness"]["path"]
    command = container.command(deployment["args"])
    with running(check, "kubernetes", command, probed, path=ready, **container.options(variables)):
        for kind, probe in probes.items():
            check.that(status(probed, probe["path"]) == 200, f"the {kind} probe succeeds")
        admin = lambda *arguments: container.run(arguments, variables)
        journey(check, Deployed(f"http://127.0.0.1:{port}", create_app(admin)), "kubernetes")


def check_systemd(check, image, directory):
    """PR-44: systemd finds no fault in the unit, and its command lines run with what it passes as credentials."""
    with open("deploy/vestry.service", encoding="utf-8") as file:
        text = file.read()
    # The program is not installed here.
    unit = f"{directory}/vestry.service"
    with open(unit, "w", encoding="utf-8") as file:
        file.write(text.replace("/usr/local/bin/vestry", image.binary))
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    check.that((said.returncode, said.stdout + said.stderr) == (0, ""), f"systemd-analyze: {said.stdout}{said.stderr}")
    for name in ("vestry-backup.service", "vestry-backup.timer"):
        with open(f"deploy/{name}", encoding="utf-8") as file:
            other = file.read().replace("/usr/local/bin/vestry", image.binary)
        with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
            file.write(other)
    timer = f"{directory}/vestry-backup.timer"
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", timer], capture_output=True, text=True)
    check.that((said.returncode, said.stdout + said.stderr) == (0, ""), f"systemd-analyze: {said.stdout}{said.stderr}")
    lines = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)
    settings = dict(lines)
    check.that((settings["LimitMEMLOCK"], settings["LimitCORE"]) == ("infinity", "0"), "keys leave memory neither for swap nor for a core file")
    sources = dict(value.split(":", 1) for name, value in lines if name == "LoadCredential")
    check.that(set(sources) == {"root.key", "sign-in.key", "database-url"}, f"the credentials: {set(sources)}")
    check.that({os.path.basename(path) for path in sources.values()} == set(sources), "files are named as their credentials")

    # What an administrator prepares, as the head of the unit says.
    originals, passed, state = f"{directory}/originals", f"{directory}/credentials", f"{directory}/state"
    for made in (originals, passed, state):
        os.mkdir(made)
    with open(f"{originals}/database-url", "w", encoding="utf-8") as file:
        file.write(f"sqlite:{state}/vestry.db\n")
    config, port = f"{directory}/vestry.toml", free_port()
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'http.base_url = "https://id.example.com"\nhttp.listen = "127.0.0.1:{port}"\nhttp.drain_delay = 0\n')
    as_root = PATH | {"CREDENTIALS_DIRECTORY": originals}
    admin = lambda *arguments, **more: run(image.binary, "--config", config, *arguments, env=as_root | more)
    admin("migrate")
    admin("vault", "init", VESTRY_VAULT__LOCAL__PATH=f"{originals}/root.key")
    key = create_app(admin)
    for name in ("", *os.listdir(state)):
        os.chown(f"{state}/{name}", USER, USER)

    # What systemd then does. It lets the service read its copies by an ACL, here by its group.
    for name in sources:
        with open(f"{originals}/{name}", "rb") as file, open(f"{passed}/{name}", "wb") as copy:
            copy.write(file.read())
        os.chmod(f"{passed}/{name}", 0o440)
        os.chown(f"{passed}/{name}", 0, USER)
    options = {"cwd": "/", "env": PATH | {"CREDENTIALS_DIRECTORY": passed}, "user": USER, "group": USER, "extra_groups": []}
    command = lambda name: shlex.split(settings[name].replace("/usr/local/bin/vestry", image.binary).replace("/etc/vestry/vestry.toml", config))
    run(*command("ExecStartPre"), **options)
    with running(check, "systemd", command("ExecStart"), port, **options):
        journey(check, Deployed(f"http://127.0.0.1:{port}", key), "systemd")
        rotated = admin("vault", "rotate-root")
        said = "restart services that read root keys from systemd credentials; otherwise they return 503 sealed"
        check.that(said in rotated, f"rotate-root says what to do: {rotated}")
    with running(check, "systemd, again", command("ExecStart"), port, **options):
        pass


def check_completions(check, image):
    """PR-48: each shell accepts its script."""
    for shell in ("bash", "zsh", "fish"):
        script = run(image.binary, "completions", shell, env=PATH)
        said = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        check.that((said.returncode, said.stderr) == (0, ""), f"{shell} -n: {said.stderr}")
        check.that("rotate-root" in script, f"the script of {shell} names the commands")


def main():
    release = os.environ["VESTRY_RELEASE"]
    check = Check("packaging", "kubernetes-validate", "PyYAML")
    with tempfile.TemporaryDirectory(prefix="vestry-packaging-") as directory:
        os.chmod(directory, 0o755)
        below = lambda name: os.makedirs(f"{directory}/{name}") or f"{directory}/{name}"
        image = Image(f"{release}/vestry-oci.tar", below("image"))
        check_release(check, release, image)
        check_image(check, image)
        tasks = {
            "image": lambda: check_container(check, image, below("container")),
            "compose": lambda: check_compose(check, image, below("compose")),
            "kubernetes": lambda: check_kubernetes(check, image, below("kubernetes")),
            "systemd": lambda: check_systemd(check, image, below("systemd")),
            "completions": lambda: check_completions(check, image),
        }
        only = sys.argv[1:] or tasks
        for name in only:
            begun = time.monotonic()
            try:
                tasks[name]()
            except Exception as error:
                # The others still run.
                check.that(False, f"{name}: {error}")
            print(f"packaging: {name}: {time.monotonic() - begun:.1f} s")
    check.end()


if __name__ == "__main__":
    main()
