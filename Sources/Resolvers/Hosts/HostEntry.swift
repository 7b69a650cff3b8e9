import Net
import System

/// A host in the cache: the last answer, and when the next one is due. For the resolvers' thread
/// only.
final class HostEntry {
    struct Key: Hashable {
        let host: String
        let resolvers: [String]
    }

    /// Addresses that a resolver has answered.
    struct Answer: Equatable {
        var addresses: [IPAddress]
        /// The resolver.
        var resolver: String
        var expires: Moment
        /// When a new answer is due, if the host is in use.
        var refresh: Moment
        /// The addresses are not used any more.
        var ends: Moment
        /// They are used again after a restart.
        var isKept = true
    }

    let key: Key
    /// One a port.
    private(set) var doors: [HostAddresses] = []
    private(set) var answer: Answer?
    /// No query before this time: the last ones brought nothing.
    private(set) var closedUntil: Moment?
    /// Tries in a row that brought nothing.
    private var failures = 0
    /// The answer was shown as one whose time is over.
    private var isStale = false
    /// Somebody wants an answer.
    private(set) var isWanted = true
    /// All resolvers said that there are no addresses.
    private var isNegative = false
    /// Its resolvers are being asked.
    private(set) var isAsked = false
    private var askedAt: Moment?
    /// The resolver whose addresses did not work, which is asked last until then.
    private var distrusted: (resolver: String, until: Moment)?

    private static let distrustTime: Duration = .seconds(60)
    private static let urgentPause: Duration = .seconds(2)

    init(_ key: Key) {
        self.key = key
    }

    func add(_ door: HostAddresses, _ now: Moment) {
        doors.append(door)
        isWanted = true
        show(now)
    }

    func remove(_ door: HostAddresses) { doors.removeAll { $0 === door } }

    /// Takes an answer of an earlier run.
    func recall(_ old: Answer, _ now: Moment) {
        guard old.ends > now else { return }
        answer = old
        show(now)
    }

    // MARK: - When to ask

    /// True if its resolvers are to be asked now.
    func isDue(_ now: Moment) -> Bool { !isAsked && (due.map { $0 <= now } ?? false) }

    /// When its resolvers are to be asked, as far as it is known. nil: when it is used.
    var due: Moment? {
        guard isWanted else { return answer?.refresh }
        let soonest = Moment(nanoseconds: 0)
        return closedUntil ?? soonest
    }

    /// When something changes without an event.
    func nextChange(_ now: Moment) -> Moment? {
        let times: [Moment?] = [
            isAsked ? nil : due,
            answer.flatMap { $0.expires > now ? $0.expires : $0.ends },
        ]
        return (times + doors.map { $0.nextRecovery(after: now) }).compactMap(\.self).min()
    }

    /// Somebody uses an old answer or has none. Urgent: no address works.
    func want(isUrgent: Bool, _ now: Moment) {
        // The answer came after the wish.
        if !isUrgent, let answer, answer.expires > now { return }
        isWanted = true
        guard isUrgent || answer == nil else { return }
        let pause = isNegative ? NameSettings.negativeMin : Self.urgentPause
        let soonest = distrust(isUrgent, now) ? now : askedAt.map { $0 + pause } ?? now
        closedUntil = closedUntil.map { min($0, soonest) } ?? soonest
    }

    /// Returns true if another resolver is asked first from now on.
    private func distrust(_ isUrgent: Bool, _ now: Moment) -> Bool {
        guard isUrgent, let answer else { return false }
        let isKnown = distrusted.map { $0.until > now } ?? false
        distrusted = (answer.resolver, now + Self.distrustTime)
        return !isKnown
    }

    /// An operator wants an answer.
    func wantNow() {
        isWanted = true
        closedUntil = nil
    }

    /// Notices uses. An answer in use is refreshed ahead of its end; an unused one waits for a use.
    /// Returns true if something changed.
    func advance(_ now: Moment) -> Bool {
        for door in doors { door.recover(now) }
        guard let known = answer else { return false }
        let isOver = known.ends <= now
        let isNewlyStale = !isStale && known.expires <= now
        if isNewlyStale { show(now) }
        if isOver {
            answer = nil
            show(now)
        }
        // Once more when it becomes stale: it may be used since the refresh was due.
        if known.refresh <= now || isNewlyStale, !isWanted {
            if doors.reduce(false, { $1.takeUse() || $0 }) {
                isWanted = true
            } else {
                answer?.refresh = known.ends
            }
        }
        return isOver || isNewlyStale
    }

    /// Its resolvers are asked from now on. Returns them in order, with the system among them.
    func ask(_ now: Moment) -> [String] {
        (isAsked, askedAt) = (true, now)
        var chain = key.resolvers
        if !chain.contains(NameSettings.system) { chain.append(NameSettings.system) }
        if let distrusted, distrusted.until > now,
            let place = chain.firstIndex(of: distrusted.resolver)
        {
            chain.append(chain.remove(at: place))
        }
        return chain
    }

    // MARK: - Answers

    func answered(_ new: Answer, _ now: Moment) {
        answer = new
        (failures, closedUntil, isWanted, isNegative) = (0, nil, false, false)
        show(now)
    }

    func ended() { isAsked = false }

    /// No resolver has an address. `pause` is how long a negative answer holds; without one the
    /// pause grows. A host that somebody waits for is asked for again soon.
    func failed(pause: Duration?, _ now: Moment) {
        failures += 1
        isNegative = pause != nil
        let isUsed = doors.reduce(false) { $1.takeUse() || $0 }
        let longest: Duration =
            answer != nil ? .seconds(30) : isUsed ? Self.urgentPause : .seconds(60)
        closedUntil = now + (pause ?? min(longest, .seconds(1 << min(failures - 1, 6))))
        show(now)
    }

    /// Shows what is known to all that read it.
    private func show(_ now: Moment) {
        isStale = answer.map { $0.expires <= now } ?? false
        guard let answer else {
            if failures > 0 { for door in doors { door.showNone() } }
            return
        }
        for door in doors {
            door.show(answer.addresses, from: answer.resolver, isStale: isStale)
        }
    }

    /// The answer with a time that holds beyond this process.
    func kept(_ now: Moment, _ wall: WallTime) -> NameFile.Kept? {
        answer.flatMap { answer in
            guard answer.isKept else { return nil }
            return NameFile.Kept(
                host: key.host,
                resolvers: key.resolvers,
                resolver: answer.resolver,
                addresses: answer.addresses,
                expires: wall + (answer.expires - now)
            )
        }
    }

    func status(of door: HostAddresses, _ now: Moment) -> NameReport.HostStatus {
        NameReport.HostStatus(
            host: key.host,
            resolvers: key.resolvers,
            resolver: answer?.resolver,
            isStale: isStale,
            remaining: answer.map { $0.expires - now },
            addresses: door.facts(now).map {
                NameReport.AddressStatus(address: $0, connectTime: $1, rests: $2)
            },
            uses: door.useCounts
        )
    }
}

extension HostEntry.Answer {
    init(_ found: HostAnswer, from resolver: String, _ settings: NameSettings, _ now: Moment) {
        let isCached = settings.resolvers[resolver]?.isCached ?? true
        // Without a second a TTL of 0 would ask without end.
        let least = isCached ? settings.ttlMin : .seconds(1)
        let lifetime = min(max(found.timeToLive, least), settings.ttlMax)
        self.init(
            addresses: found.addresses,
            resolver: resolver,
            expires: now + lifetime,
            refresh: now + lifetime * 3 / 4,
            ends: now + lifetime + (isCached ? settings.maxStale : .zero),
            isKept: isCached
        )
    }
}
