import HTTPClient
import Net
import System

/// The resolvers' thread: asks for what is due, takes answers into the cache, measures addresses,
/// and sleeps until there is something to do.
final class NameLoop {
    enum Message: Sendable {
        case added(HostAddresses)
        case removed(HostAddresses)
        case wanted(HostAddresses, Bool)
        case refresh(String?)
        case use(NameSettings)
        case inquire(Question)
        case looked(Int, [IPAddress]?)
        case saved(SystemError?)
        case stop
    }

    struct Question: Sendable {
        let host: String
        let port: Int
        /// nil: all.
        let resolver: String?
        let trust: TransferOptions.Trust?
        let whenDone: @Sendable ([InquiryAnswer]) -> Void
    }

    /// What the thread shares with others.
    struct Parts: Sendable {
        let loop: TransferLoop
        let mailbox: Mailbox<Message>
        let report = Locked(NameReport())
        let file: NameFile?
        let journal: Journal
        let now: @Sendable () -> WallTime
        /// nil: changes of the network are not noticed.
        let network: NetworkWatch?
    }

    /// A lookup of the system. A flight waits for it until the deadline; what comes later still
    /// serves a host without addresses.
    private struct SystemQuery {
        let host: String
        /// nil: it is over.
        var deadline: Moment?
        let whenDone: ([IPAddress]?) -> Void
    }

    private let parts: Parts
    private var settings: NameSettings
    private let resolvers: ResolverPool
    private let kept: KeptAnswers
    private var entries: [HostEntry.Key: HostEntry] = [:]
    private var flights: [ObjectIdentifier: Flight] = [:]
    private var races: [AddressRace] = []
    private let system = SystemLookup()
    /// Lookups of the system, with their deadlines.
    private var lookups: [Int: SystemQuery] = [:]
    private var lookupCount = 0
    private var hasNews = false
    private var networkChanges = NetworkChanges()
    private var isStopping = false

    private static let longestSleep: Duration = .seconds(60)
    private static let lookupPatience: Duration = .seconds(2)

    init(_ settings: NameSettings, _ parts: Parts) {
        self.settings = settings
        self.parts = parts
        resolvers = ResolverPool(parts, settings.timeout)
        kept = KeptAnswers(parts.file, parts.journal)
    }

    private var loop: TransferLoop { parts.loop }

    func run() {
        use(settings, .now)
        while true {
            takeMessages()
            if isStopping { break }
            let now = Moment.now
            turn(now)
            let hasEnded = loop.perform() > 0
            if resolvers.takeNews() || hasEnded || hasNews {
                publish(now)
                hasNews = false
            } else {
                loop.wait(
                    sleep(from: now),
                    watching: parts.network.map { .readable($0.descriptor) }
                )
                if parts.network?.takeChange() == true { networkChanges.changed(at: .now) }
            }
        }
        cancelAll()
        kept.saveAtEnd(entries.values, settings)
    }

    /// What is under way refers to this object and keeps it, unless it is let go.
    private func cancelAll() {
        resolvers.cancelAll()
        for race in races { race.cancel(loop) }
        (races, flights, lookups) = ([], [:], [:])
    }

    private func takeMessages() {
        let now = Moment.now
        for message in parts.mailbox.takeAll() {
            hasNews = true
            switch message {
            case .added(let addresses):
                let entry = entry(for: addresses, now)
                entry.add(addresses, now)
                race(entry.answer, [addresses], now)
            case .removed(let addresses): remove(addresses)
            case .wanted(let addresses, let isUrgent):
                entries[key(of: addresses)]?.want(isUrgent: isUrgent, now)
            case .refresh(let host):
                for resolver in resolvers.all { resolver.open(now) }
                for entry in entries.values where host.map({ $0 == entry.key.host }) ?? true {
                    entry.wantNow()
                }
            case .use(let settings): use(settings, now)
            case .inquire(let question): inquire(question, now)
            case .looked(let number, let addresses): looked(number, addresses, now)
            case .saved(let error):
                kept.saved(error)
            case .stop: isStopping = true
            }
        }
    }

    // MARK: - Hosts

    private func key(of addresses: HostAddresses) -> HostEntry.Key {
        HostEntry.Key(host: addresses.host, resolvers: addresses.resolvers)
    }

    private func entry(for addresses: HostAddresses, _ now: Moment) -> HostEntry {
        let key = key(of: addresses)
        if let entry = entries[key] { return entry }
        let new = HostEntry(key)
        if let kept = kept.take(key) {
            let remaining = kept.expires - .now
            let expires = now + min(remaining, settings.ttlMax)
            new.recall(
                HostEntry.Answer(
                    addresses: kept.addresses,
                    resolver: kept.resolver,
                    expires: expires,
                    refresh: now,
                    ends: expires + settings.maxStale
                ),
                now
            )
        }
        entries[key] = new
        return new
    }

    private func remove(_ addresses: HostAddresses) {
        let key = key(of: addresses)
        guard let entry = entries[key] else { return }
        entry.remove(addresses)
        guard entry.doors.isEmpty else { return }
        entries[key] = nil
        kept.keep(entry, hostsMax: settings.maxHosts)
    }

    private func use(_ new: NameSettings, _ now: Moment) {
        resolvers.use(new, now)
        let isChanged = new.resolvers != settings.resolvers
        settings = new
        if isChanged { for entry in entries.values { entry.wantNow() } }
    }

    // MARK: - A turn

    private func turn(_ now: Moment) {
        let network = parts.network
        if networkChanges.takeDue(now, differs: { network?.takeDifference() ?? true }) {
            // Servers that were silent may be in reach now.
            for resolver in resolvers.all { resolver.forgetFailures() }
            for entry in entries.values { entry.wantNow() }
        }
        for (number, lookup) in lookups where lookup.deadline.map({ $0 <= now }) ?? false {
            lookups[number]?.deadline = nil
            lookup.whenDone(nil)
        }
        for entry in entries.values {
            hasNews = entry.advance(now) || hasNews
            guard entry.isDue(now) else { continue }
            flights[ObjectIdentifier(entry)] = Flight(entry, patience: settings.patience, now)
        }
        for flight in flights.values { advance(flight, now) }
        resolvers.advance(now)
        for race in races { race.advance(now, loop) }
        races.removeAll(where: \.isOver)
        if let due = kept.due, due <= now {
            let mailbox = parts.mailbox
            kept.save(entries.values, settings) { mailbox.post(.saved($0)) }
        }
    }

    private func advance(_ flight: Flight, _ now: Moment) {
        while let place = flight.takeStart(now) { ask(flight, place, now) }
        // What is known at once ends the flight within `ask`.
        let key = ObjectIdentifier(flight.entry)
        guard flight.isOver, flights[key] === flight else { return }
        flights[key] = nil
        flight.entry.ended()
        if flight.isOpen { flight.entry.failed(pause: flight.negativePause, now) }
        hasNews = true
    }

    private func ask(_ flight: Flight, _ place: Int, _ now: Moment) {
        let name = flight.chain[place]
        let host = flight.entry.key.host
        let isUrgent = flight.entry.answer == nil
        ask(name, host, isUrgent: isUrgent) { [self] outcome in
            if let taken = flight.ended(place, outcome) { take(taken, for: flight.entry) }
            advance(flight, .now)
        }
    }

    private func take(_ found: (answer: HostAnswer, resolver: String), for entry: HostEntry) {
        let now = Moment.now
        let before = entry.answer?.addresses
        let answer = HostEntry.Answer(found.answer, from: found.resolver, settings, now)
        entry.answered(answer, now)
        if before != answer.addresses { race(answer, entry.doors, now) }
        kept.changed(now)
        hasNews = true
    }

    private func race(_ answer: HostEntry.Answer?, _ doors: [HostAddresses], _ now: Moment) {
        guard let addresses = answer?.addresses, addresses.count > 1 else { return }
        for door in doors {
            races.append(
                AddressRace(door, addresses, now) { [self] door, address, time in
                    door.measured(address, time, .now)
                    hasNews = true
                }
            )
        }
    }

    // MARK: - Asking a resolver

    /// Asks one resolver for a host. The answer comes later, on this thread.
    private func ask(
        _ name: String,
        _ host: String,
        isUrgent: Bool,
        whenDone: @escaping (Flight.Outcome) -> Void
    ) {
        if resolvers[name] != nil {
            resolvers.ask(name, host, isUrgent: isUrgent, whenDone: whenDone)
        } else if name == NameSettings.system {
            look(host) { addresses in
                whenDone(addresses.map { .addresses(HostAnswer($0)) } ?? .failed)
            }
        } else if case .fixed(let hosts)? = settings.resolvers[name]?.kind {
            whenDone(hosts[host].map { .addresses(HostAnswer($0)) } ?? .failed)
        } else {
            // It left the configuration.
            whenDone(.failed)
        }
    }

    private func look(_ host: String, whenDone: @escaping ([IPAddress]?) -> Void) {
        lookupCount += 1
        let (number, mailbox) = (lookupCount, parts.mailbox)
        guard system.begin(host, whenDone: { mailbox.post(.looked(number, $0)) }) else {
            return whenDone(nil)
        }
        lookups[number] = SystemQuery(
            host: host,
            deadline: .now + Self.lookupPatience,
            whenDone: whenDone
        )
    }

    private func looked(_ number: Int, _ addresses: [IPAddress]?, _ now: Moment) {
        guard let query = lookups.removeValue(forKey: number) else { return }
        guard query.deadline == nil else { return query.whenDone(addresses) }
        guard let addresses else { return }
        for entry in entries.values where entry.key.host == query.host && entry.answer == nil {
            take((HostAnswer(addresses), NameSettings.system), for: entry)
        }
    }

    // MARK: - Operators

    private func inquire(_ question: Question, _ now: Moment) {
        let all = settings.resolvers.keys.sorted() + [NameSettings.system]
        let names = question.resolver.map { [$0] } ?? all
        let inquiry = HostInquiry(
            question.host,
            port: question.port,
            trust: question.trust,
            resolvers: names.count,
            whenDone: question.whenDone
        )
        for name in names {
            guard all.contains(name) else {
                inquiry.failed(name, "there is no such resolver", since: now)
                continue
            }
            resolvers[name]?.open(now)
            ask(name, question.host, isUrgent: true) { [self] outcome in
                switch outcome {
                case .addresses(let answer): inquiry.answered(name, answer, since: now, loop)
                case .negative: inquiry.failed(name, "it knows no address", since: now)
                case .failed:
                    let failure = resolvers[name]?.figures.failure?.description
                    inquiry.failed(name, failure ?? "it knows no address", since: now)
                }
            }
        }
    }

    // MARK: - What is shown and kept

    private func sleep(from now: Moment) -> Duration {
        var times: [Moment?] = [kept.due, networkChanges.due, resolvers.nextList]
        times += entries.values.map { $0.nextChange(now) }
        times += flights.values.map(\.nextStart)
        times += races.map { $0.isWaiting ? $0.nextStart : nil }
        times += lookups.values.map(\.deadline)
        guard let next = times.compactMap(\.self).min() else { return Self.longestSleep }
        return min(Self.longestSleep, max(.zero, next - now))
    }

    private func publish(_ now: Moment) {
        var report = NameReport()
        report.resolvers = resolvers.all.sorted { $0.name < $1.name }.map { $0.status(now) }
        report.hosts = entries.values.sorted { $0.key.host < $1.key.host }.flatMap { entry in
            entry.doors.map { entry.status(of: $0, now) }
        }
        parts.report.withLock { $0 = report }
    }
}

extension HostAnswer {
    /// Addresses without a TTL, as the system and the configuration give them.
    fileprivate init(_ addresses: [IPAddress]) {
        let time = NameSettings.systemTimeToLive
        self.init(
            v4: FamilyAnswer(addresses.filter(\.isV4), timeToLive: time),
            v6: FamilyAnswer(addresses.filter { !$0.isV4 }, timeToLive: time)
        )
    }
}

/// When hosts are asked for again after the machine's network has changed: a second after the first
/// change, because addresses and routes come one by one, and at most once a minute, however often
/// an interface comes and goes.
struct NetworkChanges {
    static let settleTime: Duration = .seconds(1)
    static let intervalMin: Duration = .seconds(60)

    private(set) var due: Moment?
    private var last: Moment?

    mutating func changed(at now: Moment) {
        guard due == nil else { return }
        due = max(now + Self.settleTime, last.map { $0 + Self.intervalMin } ?? now)
    }

    /// What makes no difference to the network delays nothing that does.
    mutating func takeDue(_ now: Moment, differs: () -> Bool = { true }) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        guard differs() else { return false }
        last = now
        return true
    }
}
