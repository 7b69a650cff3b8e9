import SLS
import System

extension Forwarder {
    /// What the settings come to, or everything that is wrong with them.
    static func outputs(
        _ destinations: [DestinationSettings],
        userAgent: String
    ) throws(DeliveryError) -> [SLSOutput] {
        let problems = destinations.flatMap { destination in
            destination.problems.map { "destination \(destination.name): \($0.reason)" }
        }
        guard problems.isEmpty else {
            throw DeliveryError(description: problems.joined(separator: "; "))
        }
        guard Set(destinations.map(\.name)).count == destinations.count else {
            throw DeliveryError(description: "two destinations have the same name")
        }
        do throws(EndpointError) {
            return try destinations.map { destination throws(EndpointError) in
                try SLSOutput(destination, userAgent: userAgent)
            }
        } catch {
            throw DeliveryError(description: error.description)
        }
    }

    /// What `reconfigure` would say of such settings.
    package func problem(with destinations: [DestinationSettings]) -> DeliveryError? {
        do throws(DeliveryError) {
            _ = try Self.outputs(destinations, userAgent: userAgent)
            return nil
        } catch {
            return error
        }
    }

    /// Goes on with other settings of these destinations, from their next request on; those that are not
    /// among them stay as they are. Everything is checked before anything changes. Destinations that
    /// delivery was not started with are refused: they need a restart, as those do that are to go.
    package func reconfigure(_ destinations: [DestinationSettings]) throws(DeliveryError) {
        let strangers = destinations.map(\.name).filter { !names.contains($0) }
        guard strangers.isEmpty else {
            throw DeliveryError(
                description: "not running since the start: "
                    + strangers.map { "destination \($0)" }.joined(separator: ", ")
                    + "; restart the gateway to add destinations"
            )
        }
        let outputs = try Self.outputs(destinations, userAgent: userAgent)
        for output in outputs { warnOfPlainText(output.settings) }
        post(.settings(outputs))
    }
}
