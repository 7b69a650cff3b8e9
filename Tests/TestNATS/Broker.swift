import Glibc
package import NATS
import System
import TestSupport
import Testing

/// A real NATS server with its own directory. It ends with this value, or with the test's process.
package final class Broker {
    /// What its configuration says beside addresses and directories.
    package struct Options {
        /// Servers of one cluster; each has an own number from 1.
        package var number = 1
        /// Where the servers of the cluster find each other.
        package var routes: [UInt16] = []
        /// Its address, in brackets if it is of IPv6.
        package var host = "127.0.0.1"
        package var isSynced = true
        package var hasJetStream = true
        /// Lines that are added to the configuration, such as users or TLS.
        package var lines = ""
        /// The file store's size.
        package var storeBytes = "16GB"
        /// Lines that are added to the jetstream block.
        package var storeLines = ""

        package init() {}
    }

    package let port: UInt16
    private let options: Options
    private let directory: TemporaryDirectory
    private var process: LeashedProgram?

    package var name: String { "n\(options.number)" }
    package var address: NATSServerAddress {
        NATSServerAddress(host: options.host.filter { !"[]".contains($0) }, port: port)
    }

    /// Does not start it yet.
    package init(_ options: Options = Options()) {
        self.options = options
        port = freePort()
        directory = TemporaryDirectory()
    }

    deinit { kill() }

    /// Where the programs are: installed once, by the versions and hashes in
    /// Scripts/requirements/brokers.txt.
    private static let programs: String = {
        let script = repositoryFile("Scripts/python-tools")
        guard let process = try? ChildProcess([script, "brokers"], output: .pipe) else {
            fatalError("\(script) cannot run")
        }
        let tools = process.output?.readAll() ?? ""
        precondition(process.wait() == 0, "\(script) brokers failed")
        return "\(tools.prefix { $0 != "\n" })/bin"
    }()

    /// A Python that has another client of NATS (nats-py).
    package static var python: String { "\(programs)/python" }

    private var configuration: String {
        var text = """
            server_name: \(name)
            listen: "\(options.host):\(port)"
            \(options.isSynced ? "server_tags: [\"sync:always\"]" : "")
            \(options.lines)

            """
        if options.hasJetStream {
            text += """
                jetstream {
                    store_dir: "\(directory.path)/store"
                    max_memory_store: 64MB
                    max_file_store: \(options.storeBytes)
                    \(options.isSynced ? "sync_interval: always" : "")
                    \(options.storeLines)
                }

                """
        }
        if !options.routes.isEmpty {
            let routes = options.routes.map { "nats://127.0.0.1:\($0)" }.joined(separator: ", ")
            text += """
                cluster {
                    name: test
                    listen: 127.0.0.1:\(options.routes[options.number - 1])
                    routes: [\(routes)]
                }

                """
        }
        return text
    }

    package func start() throws {
        precondition(process == nil, "the broker runs already")
        let file = directory.file("nats.conf", configuration)
        process = try LeashedProgram([
            "\(Self.programs)/nats-server", "-c", file, "-l", "\(directory.path)/log",
        ])
    }

    /// One that accepts connections.
    package static func started(
        _ lines: String = "",
        hasJetStream: Bool = false
    ) throws -> Broker {
        var options = Options()
        options.lines = lines
        options.hasJetStream = hasJetStream
        let broker = Broker(options)
        try broker.start()
        try #require(broker.waitUntilReady(), "\(broker.log)")
        return broker
    }

    /// Waits until it accepts connections.
    package func waitUntilReady() -> Bool {
        eventually { (try? TestConnection(port: port)) != nil }
    }

    /// The end of its log, for a test that fails.
    package var log: String {
        String(decoding: readFile("\(directory.path)/log").suffix(4000), as: UTF8.self)
    }

    package func signal(_ number: CInt) { process?.signal(number) }

    /// As a power cut of its process would end it.
    package func kill() { process.take()?.kill() }

    /// Moves leaders and clients away, and stops.
    package func leave() {
        signal(SIGUSR2)
    }
}

/// Several brokers of one cluster.
package final class Brokers {
    package let all: [Broker]

    package init(
        _ count: Int,
        isSynced: Bool = true,
        storeBytes: String = "16GB",
        lines: String = ""
    )
        throws
    {
        let routes = count > 1 ? (0..<count).map { _ in freePort() } : []
        all = (1...count).map { number in
            var options = Broker.Options()
            options.number = number
            options.routes = routes
            options.isSynced = isSynced
            options.storeBytes = storeBytes
            options.lines = lines
            return Broker(options)
        }
        for broker in all { try broker.start() }
    }

    package var addresses: [NATSServerAddress] { all.map(\.address) }
}
