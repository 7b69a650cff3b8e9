import HTTP
import JSON
import Queue
import System

/// What another gateway answered.
enum ClusterAnswer {
    /// Rendered letters, and where the next ones of the shard begin; nil: there are none.
    struct Letters: Equatable {
        /// What an answer may have, but for its last row, and what a row may have.
        static let bytesMax = 4 << 20

        var rows: [String] = []
        var next: Int64?
    }

    static func bytes(of response: Response) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("status", response.status)
            json.member("type", response.fields.first { $0.name == "content-type" }?.value)
            json.member("body", String(decoding: response.body, as: UTF8.self))
        }
        return json.bytes
    }

    static func response(_ bytes: [UInt8]) -> Response? {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 2),
            let status = json["status"]?.wholeNumber, let body = json["body"]?.text
        else { return nil }
        let type = json["type"]?.text ?? "application/json"
        return Response(status: status, contentType: type, text: body)
    }

    static func bytes(of letters: Letters) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.array("rows") { json in letters.rows.forEach { json.element($0) } }
            json.member("next", number: letters.next.map { "\"\($0)\"" })
        }
        return json.bytes
    }

    static func letters(_ bytes: [UInt8]) -> Letters? {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 3),
            let rows = json["rows"]?.elements
        else { return nil }
        return Letters(
            rows: rows.compactMap(\.text),
            next: json["next"]?.text.flatMap { Int64($0) }
        )
    }

    static func bytes(of sums: [DeadLetterSum]) -> [UInt8] {
        var json = JSONWriter()
        json.array { json in
            for sum in sums {
                json.array { json in
                    json.element(sum.destination)
                    json.element(sum.code)
                    json.element(sum.letters)
                    json.element(sum.bytes)
                    json.element(sum.latest.milliseconds)
                }
            }
        }
        return json.bytes
    }

    static func sums(_ bytes: [UInt8]) -> [DeadLetterSum]? {
        guard let rows = (try? JSONValue(parsing: bytes, depthMax: 3))?.elements else { return nil }
        return rows.compactMap { row in
            guard let row = row.elements, row.count == 5, let destination = row[0].text,
                let code = row[1].text, let letters = row[2].wholeNumber,
                let bytes = row[3].wholeNumber, let latest = row[4].wholeNumber
            else { return nil }
            return DeadLetterSum(
                destination: destination,
                code: code,
                letters: letters,
                bytes: bytes,
                latest: WallTime(nanoseconds: Int64(latest) &* 1_000_000)
            )
        }
    }
}
