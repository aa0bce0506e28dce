"""A collector for one request of OTLP over HTTP, which decodes it by the published schema.

It prints the port where it listens, then what it has got: a line for the resource, and one for each span. What the schema does
not know, or has another type, is an error, which the client and the standard error output get.
"""

import base64
import http.server
import json
import sys
import traceback

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

IDENTIFIERS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def with_bytes(value):
    """The same message in the JSON of the schema: OTLP has identifiers as hexadecimal digits, not as base64."""
    if isinstance(value, list):
        return [with_bytes(each) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: with_bytes(each) for name, each in value.items()}
    for name, length in IDENTIFIERS.items():
        if name in changed:
            identifier = bytes.fromhex(changed[name])
            assert len(identifier) == length and any(identifier), f"{name} is {changed[name]}"
            changed[name] = base64.b64encode(identifier).decode()
    return changed


def decoded(body):
    return json_format.ParseDict(with_bytes(json.loads(body)), trace_service_pb2.ExportTraceServiceRequest())


def value_of(value):
    kind = value.WhichOneof("value")
    return [value_of(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def attributes(fields):
    return {field.key: value_of(field.value) for field in fields}


def show(request):
    """Prints what was sent, with names in place of identifiers, after what each trace must be was checked."""
    (resource,) = request.resource_spans
    print("resource", json.dumps(attributes(resource.resource.attributes), sort_keys=True))
    spans = [span for scope in resource.scope_spans for span in scope.spans]
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans), "identifiers differ"
    for span in sorted(spans, key=lambda span: span.start_time_unix_nano):
        parent = known.get(span.parent_span_id)
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, "a span ends after it begins"
        for event in span.events:
            assert span.start_time_unix_nano <= event.time_unix_nano <= span.end_time_unix_nano, "events are inside"
        if parent is not None:
            assert parent.trace_id == span.trace_id, "a parent is of the same trace"
            assert parent.start_time_unix_nano <= span.start_time_unix_nano, "a parent begins before"
            assert span.end_time_unix_nano <= parent.end_time_unix_nano, "a parent ends after"
        of = parent.name if parent is not None else span.parent_span_id.hex() or "nothing"
        fields = attributes(span.attributes)
        milliseconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1_000_000
        assert milliseconds >= fields.get("test.milliseconds", 0), "a span lasts as long as its block"
        print(
            span.name, "of", of, trace_pb2.Span.SpanKind.Name(span.kind), trace_pb2.Status.StatusCode.Name(span.status.code),
            json.dumps(fields, ensure_ascii=False),
            [(event.name, attributes(event.attributes)) for event in span.events],
        )


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            assert self.path == "/v1/traces", self.path
            assert self.headers["Content-Type"] == "application/json", self.headers["Content-Type"]
            show(decoded(body))
            status, answer = 200, trace_service_pb2.ExportTraceServiceResponse()
            body = json_format.MessageToJson(answer).encode()
        except Exception:
            status, body = 400, traceback.format_exc().encode()
            sys.stderr.write(body.decode())
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
server.timeout = 100
print(server.server_port, flush=True)
server.handle_request()
