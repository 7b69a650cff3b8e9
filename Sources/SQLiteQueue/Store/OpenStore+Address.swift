import Queue

// A destination with one logstore has the name of it in its rules, and an operator may have to correct it. So what is
// stored for another name is taken for this one; of several streams that are one key so, the later ones stand before
// the earlier as generations do.
extension OpenStore {
    /// The key with the logstore where its logs go now.
    func addressed(_ key: StreamKey) -> StreamKey {
        guard let logstore = configuration.destinations[key.destination]?.logstore,
            logstore != key.logstore
        else { return key }
        return StreamKey(destination: key.destination, logstore: logstore, trailer: key.trailer)
    }

    func addressed(_ batches: [Batch]) -> [Batch] {
        guard batches.contains(where: { addressed($0.stream) != $0.stream }) else { return batches }
        return batches.map { batch in
            Batch(
                stream: addressed(batch.stream),
                logs: batch.logs,
                dead: batch.dead,
                dropped: batch.dropped
            )
        }
    }

    /// Destinations whose logs go elsewhere under the new rules.
    func moved(by new: QueueConfiguration) -> Set<String> {
        let moved = destinations.keys.filter { name in
            configuration.rules(name).logstore != new.rules(name).logstore
        }
        return Set(moved)
    }
}
