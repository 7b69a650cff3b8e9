import SLS

extension DestinationSettings {
    /// The output of this kind.
    func output(userAgent: String) throws(DeliveryError) -> any Output {
        switch target {
        case .sls:
            do throws(EndpointError) {
                return try SLSOutput(self, userAgent: userAgent)
            } catch {
                throw DeliveryError(description: error.description)
            }
        }
    }
}
