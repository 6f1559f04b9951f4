"""An agent behind an address, with nothing but Python: it asks for an e-mail address, and looks.

Start it with ``python http_agent.py 8000``, and then a run of it with
``passhat run retail --agent http:http://127.0.0.1:8000``.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(request):
    """The next move, given everything there is to know."""
    for seen in request["observation"]:
        if seen["type"] == "tool_result":
            return {"type": "message", "content": f"I found this: {seen['content']}. Is it yours?"}
        for word in seen["content"].split():
            if "@" in word:
                arguments = {"email": word.strip(".,!?")}
                call = {"name": "find_user_id_by_email", "arguments": arguments}
                return {"type": "tool_calls", "calls": [call]}
    return {"type": "message", "content": "What is your e-mail address, please?"}


class Agent(BaseHTTPRequestHandler):
    """Takes one POST a move."""

    def do_POST(self):  # noqa: D102
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        move = json.dumps(answer(request)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(move)))
        self.end_headers()
        self.wfile.write(move)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
