import CommitLog
import Queue
import SQLiteQueue
import System

/// Owns the threads of a gateway in a cluster. `FleetLoop` decides, and waits only for the engine.
/// The others do what takes long: with adopted shards, and with another home shard.
final class FleetKeeper: Sendable {
    enum News: Sendable {
        case lost(Shard, String)
        case adopted(OwnedShard)
        /// It waits for the shard that absorbs it.
        case ceded(String, to: String)
        case notAdopted(String, CommitLogError)
        case absorbed(String, AbsorptionEnd)
        /// Another home shard is open.
        case homeReplaced
        /// The home shard can be written again before another one was open.
        case homeRecovered
        /// Another gateway has taken the new home shard before it was open.
        case newHomeTaken
        case stop
    }

    let opener: ShardOpener
    let fleet: ShardFleet
    let wake: WakeUp
    let mailbox: Mailbox<News>
    private let adoptions: SerialWorker
    private let homes: SerialWorker
    private let worker = Locked<Worker?>(nil)
    /// Held as long as the gateway runs.
    private let lock: DirectoryLock

    init(
        _ opener: ShardOpener,
        _ fleet: ShardFleet,
        _ own: NodeRegister,
        holding lock: DirectoryLock
    ) throws(SystemError) {
        self.opener = opener
        self.fleet = fleet
        self.lock = lock
        let wake = try WakeUp()
        self.wake = wake
        mailbox = Mailbox { wake.signal() }
        adoptions = try SerialWorker("adoption")
        homes = try SerialWorker("home-shard")
        try adoptions.start()
        try homes.start()
        let worker = try Worker("fleet") { [self] in FleetLoop(self, own).run() }
        self.worker.withLock { $0 = worker }
    }

    var journal: Journal { opener.journal }

    /// Called from any thread.
    func post(_ news: News) { mailbox.post(news) }

    /// Closes all shards and leaves the cluster. Until then the others see that it lives.
    func stop() {
        opener.end()
        adoptions.stop()
        homes.stop()
        for shard in fleet.openShards.reversed() { shard.queue.close() }
        fleet.control.stop()
        fleet.messages.stop()
        mailbox.post(.stop)
        worker.withLock { $0.take() }?.join()
        mailbox.close()
    }

    // MARK: - Jobs that take long

    func whenLost(_ shard: Shard, _ name: String) -> @Sendable () -> Void {
        { [mailbox] in mailbox.post(.lost(shard, name)) }
    }

    func adopt(_ attempt: AdoptionAttempt, knownTo entry: UInt64) -> Bool {
        adoptions.post { [self] in
            let name = attempt.shard
            let shard = opener.newShard()
            do throws(CommitLogError) {
                let queue = try opener.open(
                    name,
                    as: shard,
                    makes: false,
                    knownTo: entry,
                    adopting: attempt,
                    whenLost: whenLost(shard, name)
                )
                if let target = queue.cededTo {
                    queue.close()
                    opener.giveBack(shard)
                    post(.ceded(name, to: target))
                } else {
                    post(.adopted(OwnedShard(name: name, shard: shard, queue: queue)))
                }
            } catch {
                opener.giveBack(shard)
                // The copy may be incomplete. But if the log is damaged, it may be the last copy.
                if !error.isLasting { ShardDirectories(opener.settings).remove(name) }
                post(.notAdopted(name, error))
            }
        }
    }

    func close(_ lost: OwnedShard) {
        _ = adoptions.post { [opener] in
            lost.queue.close()
            ShardDirectories(opener.settings).remove(lost.name)
        }
    }

    /// Makes an emptied shard a part of another one, or goes on with that.
    func absorb(_ name: String, _ shard: OwnedShard?, into target: OwnedShard) -> Bool {
        adoptions.post { [self] in
            let absorption = Absorption(name, shard?.queue, into: target, opener) { [fleet] in
                fleet.forgetCeded(name)
            }
            post(.absorbed(name, absorption.run()))
        }
    }

    /// Opens a new home shard in the place of one that is lost or cannot be written. One name for
    /// all tries: each log has room on the servers.
    func replaceHome(by name: String) -> Bool {
        homes.post { [self] in
            var pause = Duration.milliseconds(250)
            let shard = opener.newShard()
            while !opener.hasEnded {
                guard fleet.isHomeUnusable else {
                    opener.giveBack(shard)
                    return post(.homeRecovered)
                }
                do throws(CommitLogError) {
                    guard let home = try makeHome(name, shard) else {
                        opener.giveBack(shard)
                        return post(.newHomeTaken)
                    }
                    let old = fleet.replaceHome(with: home)
                    post(.homeReplaced)
                    guard let old else { return }
                    old.queue.close()
                    return ShardDirectories(opener.settings).remove(old.name)
                } catch {
                    journal.warning(
                        "another home shard cannot be opened; devices get 503 until then",
                        ["reason": error.description]
                    )
                }
                opener.pause(pause)
                pause = min(pause * 2, .seconds(5))
            }
        }
    }

    /// nil: while it could not be opened, another gateway has adopted it. It may remove the log.
    private func makeHome(_ name: String, _ shard: Shard) throws(CommitLogError) -> OwnedShard? {
        let registers = try opener.cluster.registers()
        guard ShardDirectories.gone(registers)[name] == nil else { return nil }
        let queue = try opener.open(
            name,
            as: shard,
            makes: true,
            knownTo: 0,
            whenLost: whenLost(shard, name)
        )
        guard queue.cededTo == nil else {
            queue.close()
            return nil
        }
        journal.info("home shard made", ["node": opener.settings.node, "shard": name])
        return OwnedShard(name: name, shard: shard, queue: queue)
    }
}
