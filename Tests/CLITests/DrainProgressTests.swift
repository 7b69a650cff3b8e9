import Testing

@testable import CLI

@Suite struct DrainProgressTests {
    private func read(_ text: String) -> DrainProgress? {
        DrainProgress(Array(text.utf8))
    }

    @Test("How far it is is read from the numbers, whatever their order and what stands between")
    func numbers() throws {
        let usual = try #require(
            read(#"{"draining":true,"queued":12,"held":5,"dead":1}"# + "\n")
        )
        #expect(usual.isDraining && usual.queued == 12 && usual.held == 5 && usual.dead == 1)
        let other = """
            {
              "new": {"queued": 0, "text": "x: 0 queued"},
              "dead" : 1,
              "queued"
                : 12 ,
              "held": 5, "draining": true
            }
            """
        #expect(read(other) == usual)
        // It was taken for the end once.
        #expect(read(#"{"held": 0, "queued":0,"draining":true}"#)?.queued == 0)
        #expect(read(#"{"other":{"queued":0,"x":1},"queued":7,"draining":true}"#)?.queued == 7)
    }

    @Test("Nothing queued is no end while requests are being stored")
    func arriving() throws {
        let busy = try #require(read(#"{"draining":true,"queued":0,"arriving":2}"#))
        #expect(!busy.isDone)
        #expect(busy.line(since: busy) == "draining: 0 queued, 2 requests being stored")
        let last = try #require(read(#"{"draining":true,"queued":0,"arriving":1}"#))
        #expect(last.line(since: last) == "draining: 0 queued, 1 request being stored")
        #expect(try #require(read(#"{"draining":true,"queued":0,"arriving":0}"#)).isDone)
    }

    @Test(
        "What is no such document is none",
        arguments: [
            "", "{}", #"{"draining":true}"#, #"{"queued":-1}"#, #"{"queued":"0"}"#,
            #"{"queued":1.5}"#, #"{"queued":1"#, #"{"queued":1}}"#, #"{"draining":1,"queued":1}"#,
            "draining: 0 queued",
        ]
    )
    func others(text: String) {
        #expect(read(text) == nil)
    }

    @Test("A line says what is left, and what is gone since the beginning")
    func line() throws {
        let first = try #require(read(#"{"draining":true,"queued":5000}"#))
        #expect(first.line(since: first) == "draining: 5000 queued")
        let later = try #require(read(#"{"draining":true,"queued":3800,"held":20,"dead":1}"#))
        #expect(
            later.line(since: first)
                == "draining: 3800 queued, 1200 of 5000 gone (24%), 20 of paused destinations, "
                + "1 dead letter"
        )
        // Requests that were under way may still have been taken.
        #expect(
            later.line(since: later) == first.line(since: later).replacing("5000", with: "3800")
                + ", 20 of paused destinations, 1 dead letter"
        )
        #expect(later.whatHolds == nil)
        let held = try #require(read(#"{"draining":true,"queued":2,"held":2}"#))
        #expect(held.whatHolds?.contains("sluice resume --all") == true)
    }
}
