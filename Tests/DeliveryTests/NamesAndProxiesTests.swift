import Glibc
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1))) struct NamesAndProxiesTests {
    @Test("At localhost the project is part of the name, which leads to this machine")
    func localhost() throws {
        let source = try MemorySource()
        let server = try ScriptedServer()
        let rig = try Rig(source, server) { settings in
            guard let endpoint = try? Endpoint(parsing: "http://localhost:\(server.port)") else {
                return
            }
            settings.sls.endpoint = endpoint
        }
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let request = server.requests.now[0]
        #expect(request.header("host") == "demo-project.localhost:\(server.port)")
        #expect(request.header("x-log-project") == nil)
    }

    @Test("A proxy in the environment is not obeyed")
    func proxy() async {
        await #expect(processExitsWith: .success) {
            for name in ["http_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:1", 1)
            }
            let source = try MemorySource()
            let rig = try Rig(source, ScriptedServer())
            source.offer(1)
            let isDelivered = source.state.wait { $0.acknowledged == [1] }
            rig.stop()
            exit(isDelivered ? 0 : 1)
        }
    }

    @Test("A destination without encryption is worth a warning, unless it is this machine")
    func plainText() throws {
        let recorder = JournalRecorder()
        for endpoint in ["http://logs.example.com", "http://127.0.0.1:1", "http://localhost:1"] {
            var settings = try Samples.destination(port: 1)
            settings.sls.endpoint = try Endpoint(parsing: endpoint)
            let forwarder = try Forwarder(
                [settings],
                source: MemorySource(),
                credentials: { _ in Samples.credential },
                journal: recorder.journal
            )
            try forwarder.start()
            forwarder.stop(within: .zero)
        }
        #expect(recorder.lines.now.count == 1)
        #expect(recorder.lines.now.first?.contains("http://logs.example.com") == true)
    }
}
