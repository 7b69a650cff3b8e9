import HTTP
import JSON
import SQLite
import System

/// The page at `GET /`: newest logs, counts for each logstore, active faults and limits.
struct LogsPage {
    let address: String
    let query: LogQuery
    let logs: [ShownLog]
    let statistics: Statistics
    let size: LogTally
    let faults: [FaultPlan.Entry]
    let rateLimits: [RateLimit]

    var live: HTMLText {
        """
        <section aria-labelledby="counts"><h2 id="counts">Received</h2>\(counts)</section>
        \(troubles)
        <section aria-labelledby="newest"><h2 id="newest">Newest logs</h2>\(list)</section>
        """
    }

    private var counts: HTMLText {
        guard !statistics.places.isEmpty else {
            return "<p>No logs have arrived since \(statistics.since.rfc3339).</p>"
        }
        var rows = HTMLText()
        let places = statistics.places.sorted { $0.value.logs > $1.value.logs }.prefix(20)
        for (place, total) in places {
            rows.append(
                """
                <tr><th scope="row">\(place.project) / \(place.logstore)</th>\
                <td>\(total.logs)</td><td>\(total.requests)</td><td>\(total.bytes)</td></tr>
                """
            )
        }
        return """
            <table><thead><tr><th scope="col">Project / logstore</th><th scope="col">Logs</th>\
            <th scope="col">Requests</th><th scope="col">Bytes</th></tr></thead>
            <tbody>\(rows)</tbody></table>
            <p class="small">Since \(statistics.since.rfc3339); \(size.logs) logs are kept\
            \(dropped)\(duplicates).</p>
            """
    }

    private var dropped: HTMLText {
        statistics.dropped.logs == 0
            ? "" : ", <strong>\(statistics.dropped.logs) of the oldest were dropped</strong>"
    }

    private var duplicates: HTMLText {
        statistics.duplicates.logs == 0
            ? "" : ", \(statistics.duplicates.logs) came again with a pack id seen before"
    }

    private var troubles: HTMLText {
        guard !faults.isEmpty || !rateLimits.isEmpty || !statistics.errors.isEmpty else {
            return ""
        }
        var items = HTMLText()
        for entry in faults {
            var json = JSONWriter()
            json.object { entry.fault.write(to: &$0) }
            items.append(
                """
                <li>Fault \(entry.id), hit \(entry.hits) times: \
                <code>\(json.text)</code></li>
                """
            )
        }
        for limit in rateLimits {
            items.append("<li>\(Self.description(of: limit))</li>")
        }
        for (code, count) in statistics.errors.sorted(by: { $0.key < $1.key }) {
            items.append("<li>Answered \(code) \(count) times</li>")
        }
        return """
            <section aria-labelledby="trouble"><h2 id="trouble">Faults and refusals</h2>\
            <ul>\(items)</ul></section>
            """
    }

    private static func description(of limit: RateLimit) -> String {
        var text =
            "Limit for \(limit.project ?? "any project") / \(limit.logstore ?? "any logstore"):"
        if let rate = limit.requestsPerSecond { text += " \(rate) requests/s" }
        if let rate = limit.bytesPerSecond { text += " \(rate) bytes/s" }
        return text + ", then \(limit.code)"
    }

    private var list: HTMLText {
        guard !logs.isEmpty else { return "<p>Nothing matches yet.</p>" }
        var items = HTMLText()
        for log in logs {
            var members = HTMLText()
            for (name, value) in log.members {
                members.append("<div><dt>\(name)</dt><dd>\(value)</dd></div>")
            }
            items.append(
                """
                <li><p class="where"><time datetime="\(log.time.rfc3339)">\(log.time.rfc3339)</time> \
                <span>\(log.project) / \(log.logstore)</span>\
                \(Self.labelled("topic", log.topic))\(Self.labelled("source", log.source))</p>\
                <dl>\(members)</dl></li>
                """
            )
        }
        return "<ol>\(items)</ol>"
    }

    private static func labelled(_ label: String, _ text: String) -> HTMLText {
        text.isEmpty ? "" : " <span>\(label) <b>\(text)</b></span>"
    }

    /// The whole page. Whatever a log contains, only scripts and styles with this nonce run.
    func document(nonce: String) -> HTMLText {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>SLS sandbox</title><style nonce="\(nonce)">\(Self.style)</style></head>
        <body><header><h1>SLS sandbox</h1>
        <p>A look-alike of Alibaba Cloud Log Service at <code>\(address)</code>. The same as data: \
        <a href="/logs">/logs</a>, <a href="/stats">/stats</a>, <a href="/faults">/faults</a>.</p>
        <form method="get" action="/" role="search">
        <label>Logstore <input name="logstore" value="\(query.logstore ?? "")"></label>
        <label>Contains <input type="search" name="contains" value="\(query.contains ?? "")"></label>
        <button>Show</button>
        <label class="live"><input type="checkbox" id="follow" checked> Follow</label>
        </form></header>
        <main id="live">\(live)</main>
        <script nonce="\(nonce)">\(Self.script)</script></body></html>

        """
    }

    private static let style: HTMLText = """
        :root { color-scheme: light dark; --line: #8884; --quiet: #666; }
        @media (prefers-color-scheme: dark) { :root { --quiet: #aaa; } }
        body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
        h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
        form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; }
        label { display: flex; flex-direction: column; font-size: .875rem; }
        label.live { flex-direction: row; gap: .4rem; align-items: center; }
        input, button { font: inherit; padding: .3rem .5rem; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line); }
        td, thead th:not(:first-child) { text-align: right; }
        ol { list-style: none; margin: 0; padding: 0; }
        ol > li { border-bottom: 1px solid var(--line); padding: .5rem 0; }
        .where { margin: 0; display: flex; flex-wrap: wrap; gap: 0 1rem; }
        .where, .small, dt { color: var(--quiet); font-size: .875rem; }
        dl { margin: 0; display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
        dl div { display: flex; gap: .4rem; max-width: 100%; }
        dd { margin: 0; } dd, dt, code { font-family: ui-monospace, monospace; \
        font-size: .875rem; overflow-wrap: anywhere; white-space: pre-wrap; }
        """

    /// An update keeps scroll position and focus, which a reload would lose.
    private static let script: HTMLText = """
        const live = document.getElementById('live'), follow = document.getElementById('follow');
        async function refresh() {
          if (!follow.checked || document.hidden || String(getSelection())) return;
          try {
            const answer = await fetch(location.href, { headers: { 'x-sandbox-part': 'live' } });
            if (answer.ok) live.innerHTML = await answer.text();
          } catch { }
        }
        setInterval(refresh, 2000);
        """
}

extension Sandbox {
    private static let logsShown = 100

    func page(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var query = try LogQuery(request)
        query.limit = Self.logsShown
        query.newest = true
        let wanted = query
        var logs: [ShownLog] = []
        try look(wanted) { archive, slice throws(SQLiteError) in
            try archive.collect(wanted, within: slice, into: &logs)
            return logs.count < wanted.limit
        }
        let page = state.withLock { state in
            LogsPage(
                address: request["host"] ?? "",
                query: query,
                logs: logs,
                statistics: state.statistics,
                size: state.archive.size,
                faults: state.faults.entries,
                rateLimits: state.rateLimits.entries.map(\.limit)
            )
        }
        let nonce = hex(randomBytes(16))
        let isPart = request["x-sandbox-part"] == "live"
        let html = isPart ? page.live : page.document(nonce: nonce)
        var answer = Answer.text("text/html; charset=utf-8", Array(html.text.utf8))
        answer.response.fields += [
            (
                "content-security-policy",
                "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; "
                    + "connect-src 'self'; form-action 'self'; base-uri 'none'; "
                    + "frame-ancestors 'none'"
            ), ("referrer-policy", "no-referrer"),
        ]
        return answer
    }
}

/// HTML under construction. Interpolated values are escaped; literal parts are not.
struct HTMLText: ExpressibleByStringInterpolation, Sendable {
    private(set) var text = ""

    init(stringLiteral value: String) { text = value }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    init() {}

    mutating func append(_ other: HTMLText) { text += other.text }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ value: String) { text += HTMLText.escaped(value) }

        mutating func appendInterpolation(_ value: Int) { text += "\(value)" }

        mutating func appendInterpolation(_ value: HTMLText) { text += value.text }
    }

    /// Safe in text and in quoted attributes.
    static func escaped(_ text: String) -> String {
        text.escaping(["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;"])
    }
}
