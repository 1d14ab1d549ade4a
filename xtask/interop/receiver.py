"""A receiver of webhooks."""

import http.server
import threading

# The time limit for an event, which is sent immediately.
PATIENCE = 60


class Receiver:
    """An HTTP server that accepts and stores every request."""

    def __init__(self):
        self.arrived = []
        self._change = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver._keep(headers, body)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/events"

    def _keep(self, headers, body):
        with self._change:
            self.arrived.append((headers, body))
            self._change.notify_all()

    def wait_for(self, is_there):
        with self._change:
            if not self._change.wait_for(lambda: is_there(self.arrived), PATIENCE):
                raise TimeoutError(f"only {len(self.arrived)} events arrived")
            return list(self.arrived)
