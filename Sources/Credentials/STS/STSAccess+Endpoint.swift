import SLS

extension STSAccess {
    /// "https://sts.cn-hangzhou.aliyuncs.com". The request proves the caller's key, so plain http
    /// is allowed only to this machine.
    func url(_ surroundings: Surroundings) throws(SourceProblem) -> String {
        if let given = endpoint ?? surroundings.stsEndpoint {
            guard let place = try? Endpoint(parsing: given),
                place.scheme == .https || place.isLoopback
            else {
                throw SourceProblem(
                    .permanent,
                    "the STS endpoint '\(given)' cannot be used",
                    remedy:
                        "write it as sts.cn-hangzhou.aliyuncs.com; plain http is allowed for this machine only"
                )
            }
            return place.description
        }
        guard let region = region ?? surroundings.variable("ALIBABA_CLOUD_STS_REGION") else {
            guard isVPC != true else {
                throw SourceProblem(
                    .permanent,
                    "the STS endpoint of the VPC needs a region",
                    remedy: "set sts_region, or ALIBABA_CLOUD_STS_REGION"
                )
            }
            return "https://sts.aliyuncs.com"
        }
        if let problem = NamePattern.region.problem(with: region) {
            throw SourceProblem(
                .permanent,
                "STS cannot be reached: \(problem)",
                remedy: "correct sts_region or ALIBABA_CLOUD_STS_REGION"
            )
        }
        let isVPC = isVPC ?? surroundings.isSet("ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED")
        return "https://sts\(isVPC ? "-vpc" : "").\(region).aliyuncs.com"
    }
}
