import Logs
import Queue
import TestSupport
import Testing

@testable import Ingest

/// `source` of a destination, for logs whose device names none.
@Suite(.timeLimit(.minutes(1))) struct DefaultSourceTests {
    @Test(
        "A destination's source may have the client's address, and a device's own comes first",
        arguments: [
            ("iOS", "iOS"), ("{{client_ip}}", "127.0.0.1"),
            ("app {{client_ip}}!", "app 127.0.0.1!"),
        ]
    )
    func sources(source: String, expected: String) throws {
        let end = try DeviceListener(DeviceListener.destination("source: \"\(source)\""))
        let requests = [
            ("/logs/xyz", #"{"a":1}"#), ("/logs/xyz?source=own", #"{"a":1}"#),
            (BadRequest.track, #"{"__topic__":"t","__logs__":[{"a":"1"}]}"#),
            (BadRequest.track, #"{"__source__":"own","__logs__":[{"a":"1"}]}"#),
        ]
        for (path, body) in requests {
            #expect(try end.client.post(path, body.utf8).status == 200)
        }
        let found = end.queue.stored.map(\.stream.trailer.source)
        #expect(found == [expected, "own", expected, "own"])
    }

    @Test("Topic and tags stay when the source gets the address")
    func others() throws {
        let end = try DeviceListener(DeviceListener.destination(#"source: "{{client_ip}}""#))
        let track = #"{"__topic__":"t","__tags__":{"k":"v"},"__logs__":[{"a":"1"}]}"#
        #expect(try end.client.post(BadRequest.track, track.utf8).status == 200)
        let trailer = try #require(end.queue.stored.first?.stream.trailer)
        #expect(trailer.topic == "t")
        #expect(trailer.tags.map { "\($0.key)=\($0.value)" } == ["k=v", "env=prod"])
    }
}
