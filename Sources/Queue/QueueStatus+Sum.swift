// The status of several shards as one.
extension QueueStatus {
    /// Adds what another shard has and did. Admission, bounds and the disk stay those of this one.
    package mutating func add(_ other: QueueStatus) {
        bytes += other.bytes
        rows += other.rows
        streams += other.streams
        packets += other.packets
        for (name, destination) in other.destinations {
            destinations[name, default: Destination()].add(destination)
        }
        intake += other.intake
        deadLetters = (deadLetters + other.deadLetters).joined
        waitingBytes += other.waitingBytes
        recentBytes += other.recentBytes
        repeats.known += other.repeats.known
        databaseBytes += other.databaseBytes
        logBytes += other.logBytes
        failures += other.failures
        lostLogs += other.lostLogs
        repairedLogs += other.repairedLogs
        ledgerImbalances += other.ledgerImbalances
        isolations += other.isolations
        isolationsWaiting += other.isolationsWaiting
        relanes += other.relanes
    }
}

extension QueueStatus {
    /// Only what was counted for good, without dead letters.
    package var ledgersWithoutDead: QueueStatus {
        var status = QueueStatus()
        for (name, destination) in destinations {
            var kept = Destination()
            kept.ledger = destination.ledger.withoutDead
            kept.volumes = destination.volumes
            status.destinations[name] = kept
        }
        status.intake = intake
        status.intake -= IntakeTally(logs: Int(ledger.dead))
        return status
    }
}

extension QueueStatus.Destination {
    fileprivate mutating func add(_ other: QueueStatus.Destination) {
        ledger = ledger + other.ledger
        volumes += other.volumes
        oldest = [oldest, other.oldest].compactMap(\.self).min()
        packets += other.packets
        deadBytes += other.deadBytes
        refusedLogs += other.refusedLogs
        lastRefusal = lastRefusal ?? other.lastRefusal
        imbalance += other.imbalance
        bytes += other.bytes
        dropped += other.dropped
        for (name, outlet) in other.outlets {
            outlets[name, default: QueueStatus.Outlet()].add(outlet)
        }
    }
}

extension QueueStatus.Outlet {
    fileprivate mutating func add(_ other: QueueStatus.Outlet) {
        queued += other.queued
        packets += other.packets
        oldest = [oldest, other.oldest].compactMap(\.self).min()
        lanesInUse += other.lanesInUse
    }
}

extension [DeadLetterSum] {
    /// One sum for each destination and code, in the order in which they appear.
    package var joined: [DeadLetterSum] {
        var places: [String: [String: Int]] = [:]
        var sums: [DeadLetterSum] = []
        for sum in self {
            if let place = places[sum.destination]?[sum.code] {
                sums[place].letters += sum.letters
                sums[place].bytes += sum.bytes
                sums[place].latest = Swift.max(sums[place].latest, sum.latest)
            } else {
                places[sum.destination, default: [:]][sum.code] = sums.count
                sums.append(sum)
            }
        }
        return sums
    }
}
