import JSON
import System

/// The page at `GET /`: newest logs, counts for each logstore, active faults and limits.
struct LogsPage {
    let address: String
    let query: LogQuery
    let logs: [ShownLog]
    let statistics: Statistics
    let size: LogArchive.Size
    let faults: [FaultPlan.Entry]
    let rateLimits: [RateLimit]

    /// The part of the page that is updated.
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
}
