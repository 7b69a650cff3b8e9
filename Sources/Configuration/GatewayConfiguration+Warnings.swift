package import System

extension GatewayConfiguration {
    /// What an operator should know at the start, though all of it can be served.
    package var startWarnings: [String] { listenerWarnings + directoryWarnings + stampWarnings }

    /// Each receipt is another one, so a stream of logs never gets a second request.
    private var stampWarnings: [String] {
        destinations.flatMap { destination in
            destination.intake.stamps.labels.filter { $0.isTag && $0.fact == .receipt }.map {
                "destinations.\(destination.name).stamp.receipt is a tag, so each request becomes a stream "
                    + "and a packet of its own, and queue.max_streams bounds how many wait; a field costs no "
                    + "more than its bytes: receipt: \($0.name)"
            }
        }
    }

    /// As above, with what is read from the files.
    package func warnings(at now: WallTime) -> [String] {
        startWarnings + certificateWarnings(at: now)
    }

    /// The image has the variable from the beginning, and whoever mounts a file into it does not see that.
    private var directoryWarnings: [String] {
        guard let overruledDirectory else { return [] }
        return [
            "data_dir is \(overruledDirectory) in the configuration file, and the environment says "
                + "SLUICE_DATA_DIR=\(dataDirectory), which counts: the queue is there. Take one of them away; an "
                + "empty SLUICE_DATA_DIR leaves it to the file"
        ]
    }
}
