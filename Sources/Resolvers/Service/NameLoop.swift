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

    struct Parts: Sendable {
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

    /// A name that waits for a resolver's query in this turn.
    private struct Wish {
        let host: String
        let isUrgent: Bool
        let whenDone: (Flight.Outcome) -> Void
    }

    private let loop: TransferLoop
    private let mailbox: Mailbox<Message>
    private let parts: Parts
    private let shown: Locked<NameReport>
    private var settings: NameSettings
    private var resolvers: [String: Resolver] = [:]
    private var entries: [HostEntry.Key: HostEntry] = [:]
    private var flights: [ObjectIdentifier: Flight] = [:]
    private var races: [AddressRace] = []
    private var queries: [ObjectIdentifier: ServerQuery] = [:]
    private var lists: [String: Transfer] = [:]
    private var wishes: [String: [Wish]] = [:]
    private let system = SystemLookup()
    /// Lookups of the system, with their deadlines.
    private var lookups: [Int: SystemQuery] = [:]
    private var lookupCount = 0
    private var notices = NameNotices()
    /// Of the last run, and of hosts that nobody uses any more.
    private var kept: [HostEntry.Key: NameFile.Kept] = [:]
    private var hasFile = false
    private var isSaving = false
    private var hasNews = false
    private var nextSave: Moment?
    private var networkChanges = NetworkChanges()
    private var isStopping = false

    private static let longestSleep: Duration = .seconds(60)
    private static let saveInterval: Duration = .seconds(30)
    private static let lookupPatience: Duration = .seconds(2)

    init(
        _ loop: TransferLoop,
        _ mailbox: Mailbox<Message>,
        _ settings: NameSettings,
        _ parts: Parts,
        _ shown: Locked<NameReport>
    ) {
        self.loop = loop
        self.mailbox = mailbox
        self.settings = settings
        self.parts = parts
        self.shown = shown
    }

    func run() {
        let last = parts.file?.load()
        hasFile = last != nil
        for entry in last ?? [] {
            kept[HostEntry.Key(host: entry.host, resolvers: entry.resolvers)] = entry
        }
        use(settings, .now)
        while true {
            takeMessages()
            if isStopping { break }
            let now = Moment.now
            turn(now)
            hasNews = loop.perform() > 0 || hasNews
            if hasNews {
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
        // Another save that hangs must not hold the end.
        if !isSaving, let kept = answersToKeep { try? parts.file?.save(kept) }
    }

    /// What is under way refers to this object and keeps it, unless it is let go.
    private func cancelAll() {
        for query in queries.values { query.cancel(loop) }
        for race in races { race.cancel(loop) }
        for transfer in lists.values { loop.cancel(transfer) }
        (queries, races, lists) = ([:], [], [:])
        (flights, wishes, lookups) = ([:], [:], [:])
    }

    private func takeMessages() {
        let now = Moment.now
        for message in mailbox.takeAll() {
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
                for resolver in resolvers.values { resolver.open(now) }
                for entry in entries.values where host.map({ $0 == entry.key.host }) ?? true {
                    entry.wantNow()
                }
            case .use(let settings): use(settings, now)
            case .inquire(let question): inquire(question, now)
            case .looked(let number, let addresses): looked(number, addresses, now)
            case .saved(let error):
                isSaving = false
                if let error, let file = parts.file {
                    notices.notSaved(file.path, error, parts.journal)
                }
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
        if let kept = kept.removeValue(forKey: key) {
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
        if kept.count < settings.maxHosts { kept[key] = entry.kept(.now, .now) }
    }

    private func use(_ new: NameSettings, _ now: Moment) {
        var next: [String: Resolver] = [:]
        for (name, resolver) in new.resolvers {
            if let running = resolvers[name], running.settings == resolver {
                next[name] = running
            } else if let dialect = resolver.dialect {
                next[name] = Resolver(name, resolver, dialect, now)
            }
        }
        let isChanged = new.resolvers != settings.resolvers
        (resolvers, settings) = (next, new)
        if isChanged { for entry in entries.values { entry.wantNow() } }
    }

    // MARK: - A turn

    private func turn(_ now: Moment) {
        let network = parts.network
        if networkChanges.takeDue(now, differs: { network?.takeDifference() ?? true }) {
            // Servers that were silent may be in reach now.
            for resolver in resolvers.values { resolver.forgetFailures() }
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
        sendWishes()
        for race in races { race.advance(now, loop) }
        races.removeAll(where: \.isOver)
        for resolver in resolvers.values { askForList(resolver, now) }
        if let due = nextSave, due <= now { save() }
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
        nextSave = nextSave ?? now + Self.saveInterval
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
            let wish = Wish(host: host, isUrgent: isUrgent, whenDone: whenDone)
            wishes[name, default: []].append(wish)
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
        let (number, mailbox) = (lookupCount, mailbox)
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

    /// Hosts that want the same resolver in one turn share its queries.
    private func sendWishes() {
        while let (name, waiting) = wishes.popFirst() {
            guard let resolver = resolvers[name] else {
                for wish in waiting { wish.whenDone(.failed) }
                continue
            }
            var rest = waiting[...]
            while !rest.isEmpty {
                let batch = Array(rest.prefix(resolver.dialect.namesMax))
                rest = rest.dropFirst(batch.count)
                send(batch, to: resolver)
            }
        }
    }

    private func send(_ batch: [Wish], to resolver: Resolver) {
        var names: [String] = []
        for wish in batch where !names.contains(wish.host) { names.append(wish.host) }
        var key: ObjectIdentifier?
        let query = ServerQuery(
            resolver,
            names,
            isUrgent: batch.contains(where: \.isUrgent),
            timeout: settings.timeout,
            now: parts.now
        ) { [self] result in
            if let key { queries[key] = nil }
            hasNews = true
            notices.note(resolver, result, parts.journal)
            for wish in batch { wish.whenDone(Self.outcome(of: wish.host, result)) }
        }
        key = ObjectIdentifier(query)
        queries[ObjectIdentifier(query)] = query
        query.start(loop)
    }

    private static func outcome(of host: String, _ result: ServerQuery.Result) -> Flight.Outcome {
        guard case .success(let answers) = result else { return .failed }
        guard let answer = answers[host] else { return .failed }
        return answer.addresses.isEmpty ? .negative(answer.timeToLive) : .addresses(answer)
    }

    private func askForList(_ resolver: Resolver, _ now: Moment) {
        guard lists[resolver.name] == nil, let server = resolver.takeListServer(now),
            let query = resolver.dialect.listQuery(at: resolver.time(parts.now()))
        else { return }
        let transfer = Transfer(server: server, resolver.settings, settings.timeout)
        transfer.prepare(
            TransferRequest(query, at: server, timeout: settings.timeout, bodyBytesMax: 64 << 10)
        )
        lists[resolver.name] = transfer
        loop.start(transfer) { [self] _, outcome in
            lists[resolver.name] = nil
            hasNews = true
            do throws(QueryFailure) {
                let answer = try ServerAnswer(outcome, at: server)
                resolver.listed(try resolver.dialect.list(in: answer), .now)
            } catch {
                resolver.listFailed(.now)
            }
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
        var times: [Moment?] = [nextSave, networkChanges.due]
        times += entries.values.map { $0.nextChange(now) }
        times += flights.values.map(\.nextStart)
        times += races.map { $0.isWaiting ? $0.nextStart : nil }
        times += resolvers.values.map { lists[$0.name] == nil ? $0.listDue : nil }
        times += lookups.values.map(\.deadline)
        guard let next = times.compactMap(\.self).min() else { return Self.longestSleep }
        return min(Self.longestSleep, max(.zero, next - now))
    }

    /// On a thread of its own, because a disk may hang.
    private func save() {
        nextSave = nil
        guard !isSaving, let file = parts.file, let kept = answersToKeep else { return }
        let mailbox = mailbox
        let worker = try? Worker("names-file") {
            do throws(SystemError) {
                try file.save(kept)
                mailbox.post(.saved(nil))
            } catch {
                mailbox.post(.saved(error))
            }
        }
        isSaving = worker != nil
        worker?.leave()
    }

    /// nil: there are none, and no file.
    private var answersToKeep: [NameFile.Kept]? {
        let (now, wall) = (Moment.now, WallTime.now)
        var all = Array(kept.values)
        all += entries.values.compactMap { $0.kept(now, wall) }
        all.removeAll { $0.expires + settings.maxStale < wall }
        // A gateway without resolvers has no such file.
        guard !all.isEmpty || hasFile else { return nil }
        hasFile = true
        all.sort { $0.expires > $1.expires }
        return Array(all.prefix(settings.maxHosts))
    }

    private func publish(_ now: Moment) {
        var report = NameReport()
        report.resolvers = resolvers.values.sorted { $0.name < $1.name }.map { $0.status(now) }
        report.hosts = entries.values.sorted { $0.key.host < $1.key.host }.flatMap { entry in
            entry.doors.map { entry.status(of: $0, now) }
        }
        shown.withLock { $0 = report }
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
