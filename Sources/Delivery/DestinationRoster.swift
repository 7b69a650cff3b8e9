import Configuration
import Resolvers
import SLS
import System

/// The forwarder's destinations. The forwarder adds them and says which are to leave; the delivery
/// thread drops those when nothing of them is under way.
final class DestinationRoster: Sendable {
    struct Entry: Sendable {
        let output: any Output
        let status: Locked<DestinationStatus>
        /// It was removed. Adding it again ends that.
        fileprivate(set) var isLeaving = false

        var name: String { output.settings.name }
    }

    /// In the order in which they were added.
    private let all: Locked<[Entry]>

    init(_ outputs: [any Output]) {
        all = Locked(outputs.map { Self.entry($0) })
    }

    var entries: [Entry] { all.withLock { $0 } }
    var leaving: [String] { entries.filter(\.isLeaving).map(\.name) }

    subscript(name: String) -> Entry? { entries.first { $0.name == name } }

    /// Adds destinations, or goes on with known ones. Returns their entries with these outputs.
    func use(_ outputs: [any Output]) -> [Entry] {
        all.withLock { all in
            outputs.map { output in
                guard let index = all.firstIndex(where: { $0.name == output.settings.name }) else {
                    all.append(Self.entry(output))
                    return all[all.count - 1]
                }
                all[index] = Entry(output: output, status: all[index].status)
                return all[index]
            }
        }
    }

    func leave(_ names: Set<String>) {
        all.withLock { all in
            for index in all.indices where names.contains(all[index].name) {
                all[index].isLeaving = true
            }
        }
    }

    /// Drops a destination that leaves; false: it was added again.
    func drop(_ name: String) -> Bool {
        all.withLock { all in
            let index = all.firstIndex { $0.name == name && $0.isLeaving }
            if let index { all.remove(at: index) }
            return index != nil
        }
    }

    private static func entry(_ output: any Output) -> Entry {
        Entry(output: output, status: Locked(DestinationStatus(output.settings)))
    }
}

extension Destination {
    /// True when a running destination can go on with the new settings.
    func mayBecome(_ new: Destination) -> Bool { name == new.name && kind == new.kind }

    /// The project that it writes to; nil for a kind without projects.
    var projectInUse: String? { kind == .sls ? project : nil }

    /// Makes the output for its kind.
    func output(userAgent: String) throws(DeliveryError) -> any Output {
        switch kind {
        case .sls:
            do throws(EndpointError) {
                return try SLSOutput(self, userAgent: userAgent)
            } catch {
                throw DeliveryError(description: "destination \(name): \(error.description)")
            }
        case .http: return HTTPOutput(self, userAgent: userAgent)
        case .file, .stdout: return LineOutput(settings: self)
        }
    }

    /// Makes the carrier for its kind.
    func carrier(_ journal: Journal, _ names: NameService?) -> any Carrier {
        switch kind {
        case .sls, .http: TransferPool(self, names)
        case .file:
            WriterThread("file-\(name)") { [name, file] in
                LogFile(file, notices: ArchiveNotices(name, journal))
            }
        case .stdout: WriterThread("stdout-\(name)") { LineStream() }
        }
    }
}
