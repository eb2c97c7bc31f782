"""As much of W&B's server as a run needs that is created, resumed and logged to: played."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WandbServer:
    """`runs`: id -> the logged steps, in the order of their lines; `asked`: ids of each start."""

    def __init__(self):
        self.runs, self.asked, self.alerts = {}, [], []
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = "http://127.0.0.1:%d" % self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, query, values):
        if "upsertBucket" in query:
            name = values["name"]
            is_new = name not in self.runs
            self.runs.setdefault(name, [])
            project = {"id": "P", "name": "p", "entity": {"id": "E", "name": "e"}}
            bucket = {"id": "B" + name, "name": name, "displayName": "run " + name,
                      "config": "{}", "historyLineCount": 0, "project": project}
            return {"upsertBucket": {"bucket": bucket, "inserted": is_new}}
        if "RunResumeStatus" in query:
            self.asked.append(values["name"])
            return {"model": {"id": "P", "name": "p", "entity": {"id": "E", "name": "e"},
                              "bucket": self._status(values["name"])}}
        if "CreateRunFiles" in query:
            files = [{"name": name, "uploadUrl": f"{self.url}/upload/{name}"}
                     for name in values["files"]]
            return {"createRunFiles": {"runID": "B", "uploadHeaders": [], "files": files}}
        if "notifyScriptableRunAlert" in query:
            self.alerts.append(values["text"])
            return {"notifyScriptableRunAlert": {"success": True}}
        if "viewer" in query:
            return {"viewer": {"id": "V", "entity": "e", "username": "u", "flags": "{}",
                               "teams": {"edges": []}}}
        return {}

    def _status(self, name):
        steps = self.runs.get(name)
        if steps is None:
            return None
        tail = [json.dumps({"_step": steps[-1], "_runtime": 1})] if steps else []
        return {"id": "B" + name, "name": name, "displayName": "run " + name, "config": "{}",
                "wandbConfig": json.dumps({"t": 1}), "summaryMetrics": "{}", "tags": [],
                "historyLineCount": len(steps), "historyTail": json.dumps(tail),
                "eventsLineCount": 0, "eventsTail": "[]", "logLineCount": 0}

    def take(self, name, stream):
        """Lines of a run's history, from a given line on."""
        history = stream.get("files", {}).get("wandb-history.jsonl")
        if history:
            steps = self.runs[name]
            steps[history["offset"]:] = [json.loads(line)["_step"] for line in history["content"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = {}
        stream = re.search(r"/([^/]+)/file_stream$", self.path)
        if self.path == "/graphql":
            request = json.loads(body)
            values = request.get("variables") or {}
            reply = {"data": self.server_state.answer(request["query"], values)}
        elif stream:
            self.server_state.take(stream[1], json.loads(body))
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_PUT = do_GET = do_POST
