import CommitLog
import SQLiteQueue
import System

enum AbsorptionEnd: Sendable, Equatable {
    case done
    /// Not now: the shard has logs again, or the other one cannot be written. It is open as before.
    case notBegun
    /// The shard is closed, and must be adopted again to go on.
    case cutOff(String)
}

/// Makes a shard that is empty a part of another one, in steps that may be repeated after a crash
/// of any of them. The state is in both shards: see `AbsorptionBook`.
struct Absorption {
    private let name: String
    private let queue: DurableQueue?
    private let target: OwnedShard
    private let opener: ShardOpener
    private let whenCeded: () -> Void

    /// `queue` is nil if the shard was ceded before.
    init(
        _ name: String,
        _ queue: DurableQueue?,
        into target: OwnedShard,
        _ opener: ShardOpener,
        whenCeded: @escaping () -> Void
    ) {
        self.whenCeded = whenCeded
        self.name = name
        self.queue = queue
        self.target = target
        self.opener = opener
    }

    func run() -> AbsorptionEnd {
        let into = target.queue
        if into.absorptions[name] != .done {
            guard ask({ into.intend(toAbsorb: name, whenDurable: $0) }) ?? false else {
                return .notBegun
            }
            if let queue {
                guard ask({ queue.cede(to: target.name, whenDurable: $0) }) ?? false else {
                    return .notBegun
                }
                whenCeded()
                queue.close()
            }
            let directory = opener.settings.directory(of: name)
            switch ask({ into.absorb(name, in: directory, whenDone: $0) }) {
            case .done?: break
            case .refused(let reason)?: return .cutOff(reason)
            case .damaged(let reason)?:
                // The next attempt reads the log again.
                ShardDirectories(opener.settings).remove(name)
                return .cutOff(reason)
            case nil: return .cutOff("the gateway stops")
            }
        }
        return finish()
    }

    /// All is taken over: removes what is left of the shard.
    private func finish() -> AbsorptionEnd {
        queue?.close()
        do throws(CommitLogError) {
            // Its node may come back with a copy, and must not take the log for lost.
            let gone = ShardDirectories.goneRegister(of: name)
            try opener.cluster.set(gone, to: ShardDirectories.goneValue)
            try opener.cluster.remove(name)
        } catch {
            return .cutOff(error.description)
        }
        ShardDirectories(opener.settings).remove(name)
        let into = target.queue
        guard ask({ into.forget(absorbed: name, whenDurable: $0) }) ?? false else {
            return .cutOff("the shard \(target.name) cannot be written now")
        }
        return .done
    }

    /// The answer of a queue, which may be closed; nil: the gateway stops, the work goes on later.
    private func ask<Answer: Sendable>(
        _ body: (@escaping @Sendable (Answer) -> Void) -> Void
    ) -> Answer? {
        guard let answer = try? Promise<Answer>() else { return nil }
        body { answer.bring($0) }
        while !opener.hasEnded {
            if let brought = answer.wait(atMost: .milliseconds(200)) { return brought }
        }
        return answer.wait(atMost: .zero)
    }
}
