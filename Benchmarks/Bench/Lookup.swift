import Glibc
import Net
import Resolvers
import System

/// What a sender's look at its host's addresses costs, which happens before each request.
func runLookup(seconds: Double) {
    let (host, address) = ("demo.sluice-bench.example", IPAddress(v4: 0xc000_0207))
    var settings = NameSettings()
    settings.resolvers["fixed"] = ResolverSettings(.fixed([host: [address]]))
    guard let service = try? NameService(settings, directory: nil, journal: .silent),
        (try? service.start()) != nil
    else { fatalError("the resolvers cannot start") }
    defer { service.stop() }
    let use = service.addresses(of: host, port: 443, by: ["fixed"])
    guard case .known = use.addresses.view(atMost: .seconds(5)) else { fatalError("no address") }
    var reader = HostAddresses.Reader(use.addresses)
    var looks = 0
    let began = Moment.now
    let end = began + .nanoseconds(Int64(seconds * 1e9))
    while Moment.now < end {
        for _ in 0..<1_000_000 {
            guard case .known(let known) = reader.view(), known.targets[0].address == address else {
                fatalError("the address is gone")
            }
            looks += 1
        }
    }
    let taken = (Moment.now - began) / .nanoseconds(1)
    print("\(looks) looks, \((taken / Double(looks) * 10).rounded() / 10) ns each")
}
