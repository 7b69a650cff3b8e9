import Logs
import Net
import Queue
import SLS
import System

extension Destination: SettingGroup {
    init() { self.init(name: "") }

    static var settings: [Setting<Destination>] {
        kindSettings
        targetSettings
        httpSettings
        fileSettings
        sendingSettings
        logSettings
        backlogSettings
    }

    // MARK: - Kinds

    @SettingRows<Destination> static var kindSettings: [Setting<Destination>] {
        Setting("kind", \.kind, .word) { "`sls`, `http`, `file` or `stdout`" }
            .reload(.atRestart)
        Setting("preset", \.transfer.preset, .word) {
            "`puree` stands for `packet: {logs: 5, age: 10s}` and `retry: {first: 2s, times: 3}`, "
            "as far as these are not given"
        }
        // A reload reports the settings that it stands for.
        .reload(.silent)
        Setting("required", \.isRequired, .boolean) {
            "`false`: a request is taken also while this destination has no room, and its logs are "
            "then missing here"
        }
        Setting("shape", \.shape, .choice(["flat": .flat, "nested": .nested])) {
            "of a log in JSON: `flat` is its fields with `date` and `tag`; `nested` has `time`, "
            "`tag`, `topic`, `source`, `tags` and `fields`"
        }
    }

    static var httpSettings: [Setting<Destination>] {
        HTTPTarget.settings.map { $0.lifted(\.http) }
    }

    static var fileSettings: [Setting<Destination>] {
        FileTarget.settings.map { $0.lifted(\.file) }
    }

    /// The settings without which a destination of the kind cannot be.
    static func needed(by kind: DestinationKind) -> Set<String> {
        switch kind {
        case .sls: ["endpoint", "project", "logstore"]
        case .http: ["url"]
        case .file: ["path"]
        case .stdout: []
        }
    }

    mutating func usePreset() {
        guard transfer.preset == .puree else { return }
        transfer.packet.logs = 5
        transfer.packet.age = .seconds(10)
        transfer.retry.first = .seconds(2)
        transfer.retry.times = 3
    }

    // MARK: - Where it goes

    // Variables speak of the default destination.
    static let endpointSource = Override(variable: "SLUICE_ENDPOINT")
    static let projectSource = Override(variable: "SLUICE_PROJECT")
    static let logstoreSource = Override(variable: "SLUICE_LOGSTORE")
    static let regionSource = Override(variable: "SLUICE_REGION")

    @SettingRows<Destination> static var targetSettings: [Setting<Destination>] {
        Setting(
            "endpoint",
            \.endpoints,
            listOf: .endpoint,
            1...8,
            required: [try? Endpoint(parsing: "http://localhost")].compactMap(\.self)
        ) {
            "`https://cn-hangzhou.log.aliyuncs.com`, without the project; or a list of up to 8 "
            "endpoints of the same region, the best first: the next is taken when one does not "
            "answer, and the first again when it does"
        }
        .from(endpointSource)
        Setting(
            "project",
            \.project,
            .name(.project, "^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$"),
            required: "sandbox"
        ) { "also the first label of `Host` that chooses this destination" }
        .from(projectSource)
        Setting("logstore", \.logstore, Logstore.kind, required: .any) {
            "one name, to which all queued logs go, also from before the name was corrected; "
            #"`"*"` takes it from the request's path. For `/logs/{tag}` that is the tag's first "#
            "term, so `/logs/pv.home` goes to `pv` with topic `pv.home`"
        }
        .from(logstoreSource)
        Setting("max_logstores", \.backlog.logstoresMax, .count(1...10_000)) {
            #"with `"*"`: how many logstores may have logs in the queue at a time; one more gets "#
            "503, and its device keeps the logs. In a `_bulk`, documents with a place are stored, "
            "and only those of further logstores get 429. Up to half of the places are kept for "
            "logstores that have taken logs before, as many as there are: names that devices "
            "invent cannot shut these out, and their logs go with `max_age`"
        }
        Setting("region", \.region, .name(.region, "^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$")) {
            "needed for v4 if no endpoint tells it, as with `log-global.aliyuncs.com`"
        }
        .from(regionSource).default("from the endpoint")
        Setting("credential", \.credential, .text(upTo: 64)) { "a name under `credentials`" }
        Setting("signature", \.signature, .word) { "`v1` or `v4`" }
        Setting("proxy", \.transfer.transport.proxy, .proxy) {
            "`http://user:password@10.0.0.1:3128`; also `https`, `socks5h`. The password is never "
            "shown; `http_proxy` and similar variables are ignored"
        }
        Setting.resolve(\.transfer.transport.resolvers)
        Setting("ca_file", \.transfer.transport.certificateAuthorities, .readableFile) {
            "certificates to trust, also a proxy's; verification cannot be switched off"
        }
        .default("the system's")
    }

    // MARK: - How it is sent

    private static var timeout: Kind<Duration> { .duration(.seconds(1) ... .seconds(3600)) }

    @SettingRows<Destination> static var sendingSettings: [Setting<Destination>] {
        Setting(
            "compress",
            \.transfer.compression,
            .word,
            shownAs: { .text($0.bodyCompression.rawValue) }
        ) {
            "kind sls: `lz4` (the default, and the only one that is sent as it is stored), `zstd`, "
            "`deflate`, `none`; kind http: `gzip` (the default), `zstd`, `none`"
        }
        .default("by the kind")
        Setting(group: "packet", \.transfer.packet)
        Setting(group: "retry", \.transfer.retry)
        Setting("concurrency", \.transfer.concurrency, .count(1...256)) {
            "requests in flight to one logstore at most; to all of them together twice as many. "
            "Without it there are 8, and up to 128 where answers take long (with `exactly_once` as "
            "many as there are `lanes`)"
        }
        .default("by the distance")
        Setting("connect_timeout", \.transfer.transport.connectTimeout, timeout) {
            "`20s` on weak networks"
        }
        Setting("send_timeout", \.transfer.transport.sendTimeout, timeout) {
            "a request has this and a second for each 16 KiB of its body; `20s` on weak networks"
        }
        Setting("stall_timeout", \.transfer.transport.stallTimeout, timeout) {
            "a request that moves no byte for that long is given up"
        }
        .default("`send_timeout`")
        Setting("exactly_once", \.transfer.isExactlyOnce, .boolean) {
            "SLS stores each packet once, however often it is sent; without it a packet whose "
            "answer was lost may be stored twice"
        }
        Setting(
            "lanes",
            \.transfer.lanesGiven,
            .count(1...512),
            shownAs: { .number($0.transfer.lanes) }
        ) {
            "with `exactly_once`: packets of one logstore that may be in flight at a time, 1 to 512"
        }
        .default("twice `concurrency`, else `16`")
        Setting("drop_unauthorized", \.transfer.dropsUnauthorized, .boolean) {
            "`true` drops logs that SLS refuses twice with 401 or 404 (for lack of rights, or of "
            "the project or logstore), not for an expired token, and counts them as discarded; "
            "else delivery pauses until it is allowed"
        }
        Setting("clock_offset", \.transfer.clockOffset, .offset(upTo: .seconds(3650 * 86_400))) {
            "SLS's clock minus this machine's, for signing until SLS's answers tell it"
        }
        .default("`0s`")
    }

    // MARK: - What happens to a log

    @SettingRows<Destination> static var logSettings: [Setting<Destination>] {
        Setting("topic", \.labels.topic, .text(upTo: 128)) {
            "for batches without one; `/logs/{tag}` uses the tag as topic"
        }
        .default("empty")
        Setting("source", \.labels.source, .source) {
            "for batches without one: `iOS`, or with the device's address, `{{client_ip}}`"
        }
        .default("empty")
        Setting(
            "tags",
            \.labels.tags,
            .texts(),
            show: { .group($0.labels.tags.map { ($0.key, .text($0.value)) }) }
        ) {
            "added to every batch, and stronger than a device's tag of the same name"
        } read: {
            Labels.readTags(&$0)
        }
        Setting("late_logs", \.intake.lateLogs, .word) {
            "for a log whose time SLS would refuse: `rewrite` makes it the present and keeps its "
            "own in the field `__original_time__`; `drop` counts it as discarded; `dead_letter` "
            "keeps it aside; `keep`, for other kinds than sls, leaves it as it is"
        }
        .default("`rewrite` for kind sls, else `keep`")
        // SLS itself refuses what is older than seven days.
        Setting(
            "max_log_delay",
            \.intake.logDelayMax,
            .duration(.seconds(60) ... .seconds(7 * 86_400))
        ) {
            "logs older than that are late when they come; SLS's own limit is `7d`, and a log may "
            "have to wait here"
        }
        Setting("oversize", \.intake.oversize, .word) {
            "for a value beyond SLS's 1 MiB, or a name beyond 128 bytes: `truncate` cuts it and "
            "marks the log; `dead_letter` keeps the log aside; `keep`, for other kinds than sls, "
            "leaves it whole"
        }
        .default("`truncate` for kind sls, else `keep`")
        Setting(
            "fold_tags",
            \.intake.foldTags,
            .shaped(
                Intake.FoldTags.kind.wants,
                .listOrWord(of: .text(), count: 0...64, ["all", "none"])
            ),
            show: { $0.intake.foldTags.shown }
        ) {
            "tags of devices that become fields of their logs (`__tag__:name`), so that a fleet "
            "shares packets: a list of names, or `all`"
        } read: {
            Intake.FoldTags.read(&$0)
        }
        .default("`none`")
        Setting(group: "stamp", \.intake.stamps)
        Setting("keep_pack_id", \.intake.keepsPackID, .boolean) {
            "`true` leaves devices' `__pack_id__` in place, for SLS's context query, at the price "
            "of separate packets"
        }
    }

    // MARK: - What may wait for it

    @SettingRows<Destination> static var backlogSettings: [Setting<Destination>] {
        Setting("max_bytes", \.backlog.bytesMax, QueueSettings.bytes) {
            "its part of the queue, dead letters included; when it is full the other destinations "
            "go on. Destinations with `required: false` that do not set it share half of "
            "`queue.max_bytes` evenly"
        }
        .default("none but `queue.max_bytes`")
        Setting("max_age", \.backlog.ageMax, QueueSettings.age) { "as there" }
            .default("`queue.max_age`")
        Setting("overflow", \.backlog.overflow, QueueSettings.overflow) {
            "at the bound: `reject` answers 503 and the device keeps the logs; `drop_oldest` makes "
            "room and counts the dropped logs as expired. A destination pays for its own bound "
            "alone; for `queue.max_bytes` the destination with the most waiting logs pays. Dead "
            "letters make room this way too, and are not dropped themselves; where they alone "
            "exceed the bound nothing is dropped, and batches are refused until some are purged"
        }
        .default("`queue.overflow`")
        Setting("fresh_first", \.backlog.freshPercent, QueueSettings.freshPercent) {
            "while a backlog is delivered, the share of a logstore's packets that fresh logs get, "
            "up to `90%`; `0%` is strictly the oldest first. [Delivery](pacing.md#after-an-outage)"
        }
        .default("`queue.fresh_first`")
    }

    // MARK: - Settings that depend on each other

    /// What the whole group must fulfil. `queue` has what holds where the destination says nothing.
    mutating func complete(_ section: borrowing Section, given: Set<String>, queue: QueueSettings) {
        switch kind {
        case .sls: completeRegion(section, isRead: given.contains("region"))
        case .http: http.check(section)
        case .file: file.check(section)
        case .stdout: break
        }
        if let onlyLogstore { logstore = .named(onlyLogstore) }
        completeIntake(section, given)
        checkCompression(section)
        if let bytes = backlog.bytesMax, bytes > queue.bytesMax,
            !section.report.hasProblem(with: "queue.max_bytes")
        {
            section.problem("max_bytes") {
                "\(sizeText(bytes)) is beyond queue.max_bytes (\(sizeText(queue.bytesMax))), so it "
                "would never be reached; lower it, or raise queue.max_bytes"
            }
        }
        if section.has("max_logstores"), given.contains("logstore"),
            case .named(let name) = logstore
        {
            section.problem("max_logstores") {
                "there is one logstore, \(name); write logstore: \"*\", or remove max_logstores"
            }
        }
        if kind == .sls, section.has("lanes"), !transfer.isExactlyOnce {
            section.problem("lanes") {
                "has a meaning with exactly_once: true only; add that, or remove lanes"
            }
        }
        let stamps = section.inner("stamp")
        for label in intake.stamps.labels
        where labels.tags.contains(where: { $0.key == label.name }) {
            stamps.problem(
                label.fact.rawValue,
                "\(quoted(label.name)) is in tags too, which say what the operator knows; choose another name"
            )
        }
    }

    /// What SLS refuses is nothing to other kinds.
    private mutating func completeIntake(_ section: borrowing Section, _ given: Set<String>) {
        guard kind == .sls else {
            if !given.contains("late_logs") { intake.lateLogs = .keep }
            if !given.contains("oversize") { intake.oversize = .keep }
            return
        }
        let remedy = "is for other kinds: SLS refuses the packet of such a log; use"
        if intake.lateLogs == .keep {
            section.problem("late_logs", "keep \(remedy) rewrite, drop or dead_letter")
        }
        if intake.oversize == .keep {
            section.problem("oversize", "keep \(remedy) truncate or dead_letter")
        }
    }

    private func checkCompression(_ section: borrowing Section) {
        guard section.has("compress"), kind.has("compress"), let given = transfer.compression else {
            return
        }
        let words: [BodyCompression] =
            kind == .sls ? [.lz4, .zstd, .deflate, .none] : [.gzip, .zstd, .none]
        guard !words.contains(given) else { return }
        let list = words.map(\.rawValue).joined(separator: ", ")
        section.problem("compress") {
            "\(given.rawValue) is not for kind \(kind.rawValue); use one of \(list)"
        }
    }

    /// The region that is given, or else the one that an endpoint shows.
    private mutating func completeRegion(_ section: borrowing Section, isRead: Bool) {
        let readable = section.readableItems("endpoint", .endpoint, Self.endpointSource)
        for (index, endpoint) in readable.enumerated()
        where readable[..<index].contains(endpoint) {
            section.problem("endpoint", "\(endpoint) is given twice; keep one of them")
        }
        guard !endpoints.isEmpty else { return }
        let isGiven =
            section.has("region") || section.overridden("region", Self.regionSource) != nil
        // Only a look-alike of SLS lives on this machine, and that has no region.
        let local = endpoints.allSatisfy(\.isLoopback) ? "local" : nil
        let given = region
        region = given ?? endpoints.lazy.compactMap(\.region).first ?? local
        guard !isGiven || isRead, !section.report.inputs.isSandboxed else { return }
        do throws(EndpointError) {
            _ = try SigningMethod(signature, region: given ?? local, endpoints: endpoints)
        } catch {
            section.problem("region", error.description)
        }
    }
}

extension PacketLimits: SettingGroup {
    // From what the SDKs take as the least to what SLS takes at most.
    static var settings: [Setting<PacketLimits>] {
        Setting("bytes", \.rawBytes, .size(1...Destination.requestBytesMax)) {
            "a packet with so many is full; before compression, `1B` to `10MiB`, including topic, "
            "source and tags"
        }
        Setting("logs", \.logs, .count(1...40_960)) { "so is one with so many logs" }
        Setting("age", \.age, .duration(.milliseconds(10) ... .seconds(3600))) {
            "when a packet is old enough"
        }
    }
}

extension Destination.Logstore {
    static var kind: Kind<Self> {
        Kind(
            wants: "the name of a logstore, or \"*\"",
            .text(pattern: "^([a-z0-9][a-z0-9_-]{0,61}[a-z0-9]|\\*)$"),
            show: { .text($0.name) }
        ) { text throws(Mismatch) in
            guard text != "*" else { return .any }
            if let problem = NamePattern.logstore.problem(with: text) { throw Mismatch(problem) }
            return .named(text)
        }
    }
}

extension Destination.Labels {
    fileprivate static func readTags(_ section: inout Section) -> [Tag]? {
        var group = section.section("tags")
        var tags: [Tag] = []
        for key in group.names {
            let value = group.value(key, .text(upTo: 1024)) ?? ""
            if isReservedName(key) {
                group.problem(key, "this name is reserved by SLS; choose another")
            } else if !(1...128).contains(key.utf8.count) {
                group.problem(key, "a tag's name has 1 to 128 bytes")
            }
            tags.append(Tag(key: key, value: value))
        }
        group.refuseOthers()
        return tags
    }
}

extension Destination.Intake.FoldTags {
    fileprivate static func read(_ section: inout Section) -> Self? {
        guard section.isList("fold_tags") else { return section.value("fold_tags", kind) }
        return section.list("fold_tags", .tagName, counts: 0...64).map {
            $0.isEmpty ? .none : .named($0)
        }
    }

    fileprivate static var kind: Kind<Self> {
        Kind(wants: "all, none or a list of tags") { text throws(Mismatch) in
            switch text {
            case "all": return .all
            case "none": return .none
            default:
                throw Mismatch(
                    "\(quoted(text)) is neither all nor none; write names as a list, as in [device_id]"
                )
            }
        }
    }

    fileprivate var shown: SettingValue {
        switch self {
        case .none: .text("none")
        case .all: .text("all")
        case .named(let names): .list(names.map { .text($0) })
        }
    }
}

extension Kind<String> {
    fileprivate static var source: Kind {
        Kind(wants: "a text", show: { .text($0) }) { text throws(Mismatch) in
            guard !text.replacing(Destination.Labels.clientIP, with: "").contains("{{") else {
                throw Mismatch("\(quoted(text)) has a place that is not {{client_ip}}")
            }
            return try Kind<String>.text(upTo: 128).parse(text)
        }
    }
}
