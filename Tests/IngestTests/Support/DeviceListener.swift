import Configuration
import HTTP
import Net
import Queue
import System
import TestConfiguration
import TestSupport

@testable import Ingest

/// The devices' listener over a queue in memory.
final class DeviceListener: Sendable {
    let queue = RecordingQueue()
    let shared: DeviceHandler.Shared
    let server: HTTPServer

    init(
        _ configuration: String = DeviceListener.twoDestinations,
        recognizesRepeats: Bool = true,
        clock: ManualClock? = nil,
        limits: (inout LimitSettings) -> Void = { _ in }
    ) throws {
        let configuration = try read(
            configuration,
            ["ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret"]
        )
        var settings = LimitSettings()
        limits(&settings)
        var shared = DeviceHandler.Shared(
            queue: queue,
            routes: RoutingTable(configuration),
            devices: configuration.devices,
            limits: settings,
            recognizesRepeats: recognizesRepeats
        )
        if let clock { shared.clock = { clock.moment } }
        let given = shared
        self.shared = given
        var server = HTTPServer.Configuration(
            listen: ListenAddress(host: "127.0.0.1", port: 0),
            loops: 1,
            limits: settings.http,
            journal: .silent
        )
        server.largeRequestThreads = 1
        self.server = try HTTPServer(server) { DeviceHandler(given) }
    }

    /// Two destinations behind keys, each written as in `devices.keys`.
    convenience init(
        keys first: String,
        _ others: String...,
        clock: ManualClock? = nil,
        limits: (inout LimitSettings) -> Void = { _ in }
    ) throws {
        let devices = "devices: { keys: [\(([first] + others).joined(separator: ", "))] }\n"
        try self.init(devices + Self.twoDestinations, clock: clock, limits: limits)
    }

    deinit { server.stop(within: .zero) }

    var client: TestClient { TestClient(address: server.address) }

    /// Replaces who may send, as a reload does.
    func use(_ keys: [DeviceKey]) {
        var devices = DeviceSettings()
        devices.keys = keys
        shared.door.replace(devices)
    }

    /// One destination, and what more it says about logs on their way in.
    static func destination(_ keys: String) -> String {
        """
        destinations:
          app:
            endpoint: https://cn-hangzhou.log.aliyuncs.com
            project: my-project
            logstore: "*"
            tags: { env: prod }
            \(keys)
        """
    }

    static let twoDestinations = """
        destinations:
          app:
            endpoint: https://cn-hangzhou.log.aliyuncs.com
            project: my-project
            logstore: app-log
            tags: { env: prod }
          any:
            endpoint: https://cn-hangzhou.log.aliyuncs.com
            project: other-project
            logstore: "*"
            topic: given
            source: here
        """
}
