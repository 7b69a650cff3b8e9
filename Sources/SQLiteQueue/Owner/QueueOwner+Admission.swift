import Queue
import System

extension QueueOwner {
    /// What is said to all batches for the sake of the queue as a whole.
    var admissions: QueueAdmissions {
        let queue = admission
        guard let store, queue == .full else {
            return QueueAdmissions(queue: queue, whereRoomIsMade: queue)
        }
        let whereRoomIsMade = store.admissionWhereRoomIsMade
        return QueueAdmissions(queue: queue, whereRoomIsMade: whereRoomIsMade)
    }

    /// What is said to each destination, also to those of which nothing has come yet.
    func everyAdmission(in store: OpenStore) -> [String: DestinationAdmission] {
        var all = store.destinations.mapValues { store.admission(of: $0) }
        for (name, rules) in configuration.destinations where all[name] == nil {
            all[name] = DestinationAdmission(
                makesRoom: rules.overflow == .dropOldest,
                logstores: PublishedLogstores(LogstoreBook(most: rules.logstoresMax))
            )
        }
        return all
    }

    private var admission: QueueAdmission {
        if isStopping { return .stopping }
        guard let store else { return problem?.kind == .diskFull ? .diskFull : .failing }
        if roomBytes < configuration.tuning.rowBytes { return .diskFull }
        return store.admission
    }
}
