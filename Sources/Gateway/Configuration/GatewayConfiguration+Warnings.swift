import System

extension GatewayConfiguration {
    /// What an operator should know at the start, though all of it can be served.
    var startWarnings: [String] { listenerWarnings + directoryWarnings }

    /// As above, with what is read from the files.
    func warnings(at now: WallTime) -> [String] {
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
