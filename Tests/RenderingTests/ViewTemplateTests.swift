import JSON
import Testing

@testable import Rendering

@Suite struct ViewTemplateTests {
    private func text(_ template: String, _ json: String, page: Int = 0) throws -> String {
        ViewTemplate(template.split(separator: "\n", omittingEmptySubsequences: false))
            .text(try JSONValue(parsing: Array(json.utf8)), page: page)
    }

    @Test(
        "A placeholder prints a member's value",
        arguments: [
            ("{a.b}", #"{"a":{"b":"x y"}}"#, "x y"), ("{a}x", "{}", "x"),
            ("{a}", #"{"a":["x",2,true]}"#, "x, 2, true"), ("{a.1}", #"{"a":["x","y"]}"#, "y"),
            ("{a}", #"{"a":{"k":"v w","n":null,"o":1}}"#, #"k="v w" o=1"#),
            ("{a:json}", #"{"a":{"k":["v\n",1.5]}}"#, #"{"k":["v\n",1.5]}"#),
            ("{a:shown}", #"{"a":"x y"}"#, #""x y""#), ("{a:span}", #"{"a":-61.5}"#, "1m 1s"),
            ("{a:size} {a:bytes}", #"{"a":1536}"#, "1.5KiB 1536B"),
            ("{a:size} {a:log}", #"{"a":1e300}"#, "0B 0 logs"),
            ("{a:bytes} {b:1}", #"{"a":"äb","b":0}"#, "3B 1"),
            ("{a:tenths}", #"{"a":1.26}"#, "1.3"), ("{a:total}", #"{"a":{"x":1,"y":2}}"#, "3"),
            ("{a:log}", #"{"a":1}"#, "1 log"), ("{a:log}", #"{"a":["x","y"]}"#, "2 logs"),
        ]
    )
    func values(template: String, json: String, line: String) throws {
        #expect(try text(template, json) == line + "\n")
    }

    @Test(
        "Brackets print their first alternative whose values are there",
        arguments: [
            ("a[, {b}]", #"{"b":0}"#, "a"), ("a[, {b}]", #"{"b":""}"#, "a"),
            ("a[, {b}]", #"{"b":{"c":null}}"#, "a"), ("a[, {b}]", #"{"b":2}"#, "a, 2"),
            ("[{b}|{c}|none]", #"{"c":"x"}"#, "x"), ("[{b}|{c}|none]", "{}", "none"),
            ("[b[ {c}] {d}|e]", #"{"d":1}"#, "b 1"), ("[b[ {c}] {d}|e]", #"{"c":1}"#, "e"),
            ("[yes{b?}|no]", #"{"b":true}"#, "yes"), ("[no{b!}]x", #"{"b":false}"#, "nox"),
            ("[one{b=1}|{b} pieces]", #"{"b":1}"#, "one"), ("[x{b!=y}]z", #"{"b":"y"}"#, "z"),
            ("[ago{b<}|to come]", #"{"b":-1}"#, "ago"),
            ("[null{b=null}]x", #"{"b":null}"#, "nullx"), ("[null{b=null}]x", "{}", "x"),
        ]
    )
    func groups(template: String, json: String, line: String) throws {
        #expect(try text(template, json) == line + "\n")
    }

    @Test(
        "A line that has only brackets is left out when it prints nothing, and an empty line stays"
    )
    func emptyLines() throws {
        #expect(try text("a\n[{b}]\n\nc", "{}") == "a\n\nc\n")
    }

    @Test("Elements and members have lines of their own, as many as are wanted")
    func each() throws {
        let template = """
            @each hosts
            | {#1}. {name} of {/zone}
            | @each addresses
            | |   {.}
            @each counts
            | {$}={.}
            @each hosts name!=a 1
            | {name}
            @in first
            | {x}
            @if zone=z
            | yes
            @if zone=y
            | no
            """
        let json =
            #"{"zone":"z","hosts":[{"name":"a","addresses":["1","2"]},{"name":"b"},{"name":"c"}],"#
            + #""counts":{"k":1},"first":{"x":"y"}}"#
        #expect(
            try text(template, json) == """
                1. a of z
                  1
                  2
                2. b of z
                3. c of z
                k=1
                b
                             and 1 more
                y
                yes

                """
        )
    }

    @Test("A table has columns as wide as their texts, and lines below a row")
    func table() throws {
        let template =
            "@table rows\n| NAME | >LOGS | STATE\n| {name} | {logs} | [{state}|-]\n| [  why: {why}]"
        let json =
            #"{"rows":[{"name":"a","logs":12345,"state":"ok"},{"name":"long one","logs":1,"why":"x"}]}"#
        #expect(
            try text(template, json) == """
                NAME       LOGS  STATE
                a         12345  ok
                long one      1  -
                  why: x

                """
        )
        #expect(try text(template, #"{"rows":[]}"#) == "")
    }

    @Test("Foreign text neither steers the terminal nor begins a line")
    func foreign() throws {
        let json = #"{"a":"\u001b[31m\nqueue","b":{"k\n":"\u202e"}}"#
        let shown = try text("{a} {b} {a:shown} {b:json}", json)
        #expect(shown.split(separator: "\n").count == 1)
        #expect(
            !shown.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202e}" }
        )
    }

    @Test("A ledger that does not add up is named")
    func ledger() throws {
        let json =
            #"{"l":{"accepted":3,"delivered":1,"queued":1,"dead":0,"expired":0,"discarded":0}}"#
        #expect(try text("{l:ledger}", json).contains("DOES NOT HOLD"))
        let closed = json.replacing(#""dead":0"#, with: #""dead":1"#)
        #expect(
            try text("{l:ledger}", closed)
                == "accepted 3 = delivered 1 + queued 1 + dead 1 + expired 0 + discarded 0\n"
        )
    }

    @Test("Each view has a template")
    func templates() {
        for view in View.allCases { #expect(View.templates[view.rawValue] != nil, "\(view)") }
    }

    @Test("A document of something else stays as it is", arguments: View.allCases)
    func foreign(view: View) {
        // The commands write these themselves.
        let own: [View] = [
            .cluster, .queueCheck, .backup, .restore, .shards, .queueToShard, .shardToQueue,
        ]
        #expect(own.contains(view) || view.text(of: Array("{}".utf8)) == "{}")
    }

    @Test("Changes of dead letters, filters and captures are named, also where there are none")
    func sentences() {
        func text(_ view: View, _ json: String) -> String { view.text(of: Array(json.utf8)) }
        #expect(text(.letterChange, #"{"replayed":0,"unreadable":0}"#) == "0 replayed\n")
        #expect(text(.letterChange, #"{"purged":0}"#) == "0 purged\n")
        #expect(
            text(.letterChange, #"{"purged":3,"unreadable":2}"#)
                == "3 purged, 2 are damaged on disk and stay\n"
        )
        let rules = #""tag":"t","filters":[],"results":[{"fields":{"a":"1"}}]}"#
        let route = "tag          t\nfilters      none\n\nlog 1        a=1\n"
        #expect(text(.routeTest, "{" + rules) == route)
        let changes = #"{"dry":true,"configuration":"present","changes":[{"log":0}],"#
        #expect(text(.captureReplay, changes + rules).hasSuffix("\n  log 1\n\n" + route))
        func capture(_ filter: String) -> String {
            let head = #"{"id":"c","state":"running","kept":1,"kept_bytes":5,"actor":"a","#
            let tail = #""started":"s","ends":"e","filter":\#(filter)}"#
            return text(.captures, #"{"captures":["# + head + tail + "]}")
        }
        let (head, tail) = ("c  running, 1 request, 5B; ", "; started by a at s, ends by e\n")
        #expect(capture(#"{"path":null,"text":null}"#) == "\(head)everything\(tail)")
        #expect(
            capture(#"{"path":"/logs","text":"secret"}"#)
                == "\(head)requests with path=/logs text of 6B\(tail)"
        )
    }

    @Test("A destination whose ledger is off is named with the number of logs")
    func imbalance() {
        let json = #"{"destinations":[{"name":"app","ledger_closed":false,"imbalance":9}]}"#
        let text = View.status.text(of: Array(json.utf8))
        #expect(text.contains("\n             IT IS OFF BY 9 LOGS: report"), "\(text)")
    }

    @Test("Pages after the first do not repeat that nothing is there, and no JSON stays as it is")
    func pages() throws {
        #expect(
            View.deadLetters.text(of: Array(#"{"sums":[],"dead_letters":[]}"#.utf8))
                == "no dead letters\n"
        )
        #expect(
            View.deadLetters.text(of: Array(#"{"sums":[],"dead_letters":[]}"#.utf8), page: 1) == ""
        )
        let missing = Array(#"{"sums":[],"missing":["gw-2"],"dead_letters":[]}"#.utf8)
        #expect(View.deadLetters.text(of: missing).hasPrefix("gw-2 did not answer"))
        #expect(View.deadLetters.text(of: missing, page: 1) == "")
        #expect(View.readiness.text(of: Array("ok\n".utf8)) == "ok\n")
    }
}
