import Ingest
import JSON
import Queue
import System

extension JSONWriter {
    mutating func record(_ record: CaptureRecord, _ letters: any DeadLetters) {
        member("n", record.number)
        member("time", record.time.rfc3339)
        member("method", record.method)
        member("path", record.path)
        member("query", record.query)
        member("version", "HTTP/1.\(record.minorVersion)")
        member("address", record.address)
        member("key", record.key)
        member("tag", record.tag)
        pairs("head", record.fields)
        object("body", ifAny: record.body) { $0.body($1) }
        object("decoded", ifAny: record.inflated) { $0.body($1) }
        objects("decisions", record.decisions) { json, decision in
            json.member("step", decision.step)
            json.member("outcome", decision.outcome)
            json.member("detail", decision.detail)
        }
        member("log_count", record.logCount)
        objects("logs", record.logs) { $0.log($1) }
        objects("batches", record.batches) { json, batch in
            json.member("destination", batch.destination)
            json.member("logstore", batch.logstore)
            json.member("topic", batch.topic)
            json.member("logs", batch.logs)
            json.member("bytes", batch.bytes)
        }
        member("receipt", record.receipt)
        object("answer", ifAny: record.answer) { json, answer in
            json.member("status", answer.status)
            json.member("code", record.refusal)
            json.pairs("head", answer.fields)
            json.member("body", answer.body)
            json.member("milliseconds", decimal: answer.time.inSeconds * 1000)
        }
        let progress = record.progress
        member("delivery", progress.outcome)
        object("outcomes") { json in
            json.member("waiting", progress.waiting)
            json.member("delivered", progress.delivered)
            json.member("dead", progress.dead)
            json.member("expired", progress.expired)
            json.member("discarded", progress.discarded)
            json.member("skipped", progress.skipped)
        }
        array("dead_letters") { json in
            for id in progress.letters { json.element(letters.letterName(id)) }
        }
        objects("upstream", progress.attempts.enumerated()) {
            $0.attempt($1.element, $1.offset + 1)
        }
        member("upstream_left_out", progress.attemptsLeftOut)
    }

    private mutating func attempt(_ attempt: PacketAttempt, _ number: Int) {
        member("attempt", number)
        member("time", attempt.started.rfc3339)
        member("destination", attempt.packet.stream.destination)
        member("logstore", attempt.packet.stream.logstore)
        member("packet", attempt.packet.packID)
        // Those of other requests too.
        member("logs", attempt.packet.logCount)
        member("endpoint", attempt.endpoint)
        member("address", attempt.address)
        member("resolver", attempt.resolver)
        member("connect_milliseconds", decimal: attempt.connectTime.map { $0.inSeconds * 1000 })
        member("milliseconds", decimal: attempt.time.inSeconds * 1000)
        member("status", attempt.status)
        member("code", attempt.code)
        member("message", attempt.message)
        member("request_id", attempt.requestID)
        member("result", attempt.result)
    }

    private mutating func body(_ body: CaptureRecord.Body) {
        member("bytes", body.bytes)
        member("sha256", body.sha256)
        member("text", body.text)
        member("truncated", body.isCut)
        member("reason", body.reason)
    }

    private mutating func log(_ log: CaptureRecord.Log) {
        member("tag", log.tag)
        object("before", ifAny: log.before) { $0.members($1) }
        object("after", ifAny: log.after) { $0.members($1) }
        texts("destinations", log.destinations)
        member("reason", log.reason)
    }

    private mutating func members(_ fields: CaptureRecord.Fields) {
        for field in fields { member(field.name, field.value) }
    }

    private mutating func pairs(_ name: String, _ fields: CaptureRecord.Fields) {
        array(name) { json in
            for field in fields {
                json.array { json in
                    json.element(field.name)
                    json.element(field.value)
                }
            }
        }
    }
}
