import Glibc
package import Queue
import System

/// A data directory's note of a queue that moves between it and a cluster, durable before the first
/// step: a move that was cut off goes on with the same shard, and no gateway starts within it.
package struct MoveNote: Equatable, Sendable {
    package enum Direction: String, Sendable {
        case toShard = "to"
        case fromShard = "from"
    }

    package enum Stage: String, Sendable {
        /// The other side cannot have the queue yet.
        case begun
        /// The other side may have it.
        case ending
    }

    package let direction: Direction
    package let shard: String
    /// The name of the shard's log, which tells the cluster.
    package let log: String
    /// Tells this move from others; "-" for one to a shard, whose random name does that.
    package let moveID: String
    package var stage = Stage.begun

    package init(_ direction: Direction, _ shard: String, log: String, moveID: String) {
        self.direction = direction
        self.shard = shard
        self.log = log
        self.moveID = moveID
    }

    private static let bytesMax = 4096

    private static func path(in directory: String) -> String { directory + "/queue.move" }

    /// nil: nothing moves there.
    package static func read(in directory: String) throws(QueueError) -> MoveNote? {
        let path = path(in: directory)
        guard access(path, F_OK) == 0 else {
            guard errno == ENOENT else { throw unreadable(path) }
            return nil
        }
        guard let content = try? fileContent(path, bytesMax: bytesMax) else {
            throw unreadable(path)
        }
        let lines = String(decoding: content, as: UTF8.self).split(separator: "\n").map(String.init)
        guard lines.count == 5, let direction = Direction(rawValue: lines[0]),
            let stage = Stage(rawValue: lines[4])
        else { throw unreadable(path) }
        var note = MoveNote(direction, lines[1], log: lines[2], moveID: lines[3])
        note.stage = stage
        return note
    }

    private static func unreadable(_ path: String) -> QueueError {
        QueueError(
            .directory,
            "\(path) cannot be read; it says where the queue of this directory moves, so do not start a gateway here "
                + "before you know that."
        )
    }

    package func write(in directory: String) throws(QueueError) {
        let lines = [direction.rawValue, shard, log, moveID, stage.rawValue]
        let content = Array((lines.joined(separator: "\n") + "\n").utf8)
        do throws(SystemError) {
            try replaceFile(Self.path(in: directory), with: content)
        } catch {
            throw DataDirectory(path: directory).problem("cannot hold queue.move", error.code)
        }
    }

    package static func remove(in directory: String) throws(QueueError) {
        unlink(path(in: directory))
        try DataDirectory(path: directory).sync()
    }

    /// Throws if a gateway must not start here: the queue may be elsewhere, or would be there
    /// twice.
    package static func checkStart(in directory: String) throws(QueueError) {
        guard let note = try read(in: directory) else { return }
        switch (note.direction, note.stage) {
        // Nothing has left the cluster yet.
        case (.fromShard, .begun): return
        // The queue is still here. Once it was put aside, a gateway would begin an empty one.
        case (.toShard, .begun) where MovingQueue.isThere(in: directory): return
        default: break
        }
        throw QueueError(.refused, "\(directory): \(note); \(note.remedy(in: directory))")
    }

    package func remedy(in directory: String) -> String {
        let command =
            switch direction {
            case .toShard: "sluice shards add \(directory)"
            case .fromShard: "sluice restore --take \(shard) \(directory)"
            }
        return "finish that with: \(command)"
    }
}

extension MoveNote: CustomStringConvertible {
    package var description: String {
        switch direction {
        case .toShard: "its queue is being moved to the shard \(shard) (\(log))"
        case .fromShard: "the shard \(shard) (\(log)) is being moved here"
        }
    }
}
