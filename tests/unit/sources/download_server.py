"""A server for download_test: prints its port, and serves 300,000 bytes in ways that a path says.

/good     all of it, ranges too           /plain   all of it, whatever range is asked for
/cut      the connection ends after 100,000 bytes of each answer, ranges too
/wrong    other bytes of the same length  /gone    404          /requests  how many were made before, as text
/moved    a redirection to /good          /set/..  as /good, from files named on the command line
"""
import http.server
import os
import sys

BYTES = bytes((i * i + 7) % 251 for i in range(300000))
requests = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        global requests
        if self.path == "/requests":
            self.answer(200, str(requests).encode())
            return
        requests += 1
        if self.path == "/gone":
            self.send_error(404)
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
        elif self.path == "/wrong":
            self.answer(200, bytes(len(BYTES)))
        elif self.path == "/plain":
            self.answer(200, BYTES)
        elif self.path.startswith("/set/"):
            name = os.path.join(sys.argv[1], os.path.basename(self.path))
            if os.path.exists(name):
                with open(name, "rb") as file:
                    self.answer(200, file.read())
            else:
                self.send_error(404)
        else:
            first = int(self.headers.get("Range", "bytes=0-")[6:].split("-")[0])
            if first >= len(BYTES):
                self.send_error(416)
                return
            limit = 100000 if self.path == "/cut" else len(BYTES)
            self.answer(206 if first else 200, BYTES[first:], first, limit)

    def answer(self, code, data, first=0, limit=None):
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        if code == 206:
            self.send_header("Content-Range", f"bytes {first}-{first + len(data) - 1}/{first + len(data)}")
        self.end_headers()
        self.wfile.write(data[:limit])
        self.close_connection = True


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
